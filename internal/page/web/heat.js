import { latencyAxis, timeAxis } from "./axes.js";
import { chart } from "./chart.js";
import { behind } from "./dom.js";
import { clock, count, duration, tick } from "./format.js";
import { drawMarks } from "./marks.js";
import { channels } from "./theme.js";

/* A heat map of latency over time: heat.columns are one after the other in time, heat.width_s wide each. A column is the number of its
   lowest row and the counts from there up. Row i begins at 1 µs · 10^(i/heat.per_decade). */
export function heatMap(figure, heat, marks, end) {
  const edge = (row) => 1000 * Math.pow(10, row / heat.per_decade);
  const columns = heat.columns.map(([row, ...counts]) => ({ row, counts: counts ?? [], sum: counts.reduce((a, n) => a + n, 0) }));
  const full = columns.filter((c) => c.sum > 0);
  const low = Math.min(...full.map((c) => c.row));
  const high = Math.max(...full.map((c) => c.row + c.counts.length));
  const most = Math.max(...full.map((c) => Math.max(...c.counts)));
  const span = (i) => `${clock(i * heat.width_s)} to ${clock((i + 1) * heat.width_s)}`;
  const band = (row) => `${tick(edge(row))} to ${tick(edge(row + 1))}`;
  const peak = (c) => c.row + c.counts.indexOf(Math.max(...c.counts));

  const paint = (u) => {
    const ramp = [0, 1, 2, 3, 4].map((i) => channels("--heat-" + i));
    const x = (s) => Math.round(u.valToPos(s, "x", true));
    const y = (row) => Math.round(u.valToPos(edge(row), "y", true));
    columns.forEach((c, i) => {
      const left = x(i * heat.width_s), right = x(Math.min((i + 1) * heat.width_s, end));
      c.counts.forEach((n, j) => {
        if (!n) return;
        u.ctx.fillStyle = shade(ramp, Math.log1p(n) / Math.log1p(most));
        const top = y(c.row + j + 1);
        u.ctx.fillRect(left, top, Math.max(1, right - left), Math.max(1, y(c.row + j) - top));
      });
    });
  };
  chart(figure, {
    label: "Heat map of latency over time",
    x: columns.map((c, i) => (i + 0.5) * heat.width_s),
    series: [{ values: columns.map(() => null) }],
    at: span,
    told: (i) => (columns[i].sum ? `${count(columns[i].sum)} ended, most in ${band(peak(columns[i]))}` : "nothing ended"),
    together: "time",
    options: () => ({
      scales: { x: { time: false, range: () => [0, end] }, y: { distr: 3, range: () => [edge(low), edge(high)] } },
      axes: [timeAxis(), latencyAxis()],
      series: () => ({}),
      hooks: { draw: [paint, drawMarks(marks, false)] },
    }),
  });
  behind(figure.querySelector("details"), "Latency over time", ["time", "ended", "fastest", "most frequent", "slowest"], () =>
    columns.map((c, i) => (c.sum ? [span(i), count(c.sum), band(c.row), band(peak(c)), band(c.row + c.counts.length - 1)] : [span(i), "0", "", "", ""])));
  const scale = figure.querySelector(".scale");
  scale.querySelector(".most").textContent = count(most);
  figure.querySelector(".legend").prepend(scale);
}

// shade is a colour of the ramp, 0 to 1.
function shade(ramp, part) {
  const at = Math.min(part, 0.9999) * (ramp.length - 1);
  const i = Math.floor(at);
  const mixed = ramp[i].map((v, k) => Math.round(v + (ramp[i + 1][k] - v) * (at - i)));
  return `rgb(${mixed.join()})`;
}
