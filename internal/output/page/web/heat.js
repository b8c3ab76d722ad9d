import { latencyAxis, timeAxis } from "./axes.js";
import { clock, count, tick } from "./format.js";
import { drawMarks } from "./marks.js";
import { channels } from "./theme.js";

/* heatMap is a heat map of latency over time, as options for chart(): heat.columns are one after the other in time, heat.width_s wide each.
   A column is the number of its lowest row and the counts from there up. Row i begins at 1 µs · 10^(i/heat.per_decade). scale is the
   element that explains the colours. */
export function heatMap({ heat, marks }, { end }, scale) {
  const edge = (row) => 1000 * Math.pow(10, row / heat.per_decade);
  const columns = heat.columns.map(([row, ...counts]) => ({ row, counts: counts ?? [], sum: counts.reduce((a, n) => a + n, 0) }));
  const full = columns.filter((c) => c.sum > 0);
  const low = Math.min(...full.map((c) => c.row));
  const high = Math.max(...full.map((c) => c.row + c.counts.length));
  const most = Math.max(...full.map((c) => Math.max(...c.counts)));
  const span = (i) => `${clock(i * heat.width_s)} to ${clock((i + 1) * heat.width_s)}`;
  const band = (row) => `${tick(edge(row))} to ${tick(edge(row + 1))}`;
  const peak = (c) => c.row + c.counts.indexOf(Math.max(...c.counts));
  scale.querySelector(".most").textContent = count(most);
  return {
    label: "Heat map of latency over time",
    x: columns.map((c, i) => (i + 0.5) * heat.width_s),
    series: [{ values: columns.map(() => null) }],
    extra: scale,
    at: span,
    told: (i) => (columns[i].sum ? `${count(columns[i].sum)} ended, most in ${band(peak(columns[i]))}` : "nothing ended"),
    together: "time",
    options: () => ({
      scales: { x: { time: false, range: () => [0, end] }, y: { distr: 3, range: () => [edge(low), edge(high)] } },
      axes: [timeAxis(), latencyAxis()],
      series: () => ({}),
      hooks: { draw: [(u) => paint(u, { columns, edge, most, width: heat.width_s, end }), drawMarks(marks, false)] },
    }),
    table: {
      caption: "Latency over time", columns: ["time", "ended", "fastest", "most frequent", "slowest"],
      rows: () => columns.map((c, i) => (c.sum ? [span(i), count(c.sum), band(c.row), band(peak(c)), band(c.row + c.counts.length - 1)] : [span(i), "0", "", "", ""])),
    },
  };
}

// paint draws the cells.
function paint(u, { columns, edge, most, width, end }) {
  const ramp = [0, 1, 2, 3, 4].map((i) => channels("--heat-" + i));
  const x = (s) => Math.round(u.valToPos(s, "x", true));
  const y = (row) => Math.round(u.valToPos(edge(row), "y", true));
  columns.forEach((c, i) => {
    const left = x(i * width), right = x(Math.min((i + 1) * width, end));
    c.counts.forEach((n, j) => {
      if (!n) return;
      u.ctx.fillStyle = shade(ramp, Math.log1p(n) / Math.log1p(most));
      const top = y(c.row + j + 1);
      u.ctx.fillRect(left, top, Math.max(1, right - left), Math.max(1, y(c.row + j) - top));
    });
  });
}

// shade is a colour of the ramp, 0 to 1.
function shade(ramp, part) {
  const at = Math.min(part, 0.9999) * (ramp.length - 1);
  const i = Math.floor(at);
  const mixed = ramp[i].map((v, k) => Math.round(v + (ramp[i + 1][k] - v) * (at - i)));
  return `rgb(${mixed.join()})`;
}
