import { fromZero, latencyAxis, logRange, oneInAxis, timeAxis, valueAxis } from "./axes.js";
import { chart } from "./chart.js";
import { behind } from "./dom.js";
import { clock, count, duration, rate } from "./format.js";
import { heatMap } from "./heat.js";
import { drawMarks, listMarks } from "./marks.js";
import { colour, rem } from "./theme.js";

/* The page of a report. Its numbers and tables are there already; this draws the charts that have something to show, from the JSON in
   the page: report is the JSON report, curve, heat and marks come with it. */
const { report, curve, heat, marks } = JSON.parse(document.getElementById("data").textContent);
const series = report.series;
const width = report.series_width_s;
const middle = series.map((s) => s.t + width / 2);
const times = series.map((s) => `${clock(s.t)} to ${clock(s.t + width)}`);

// The last point may cover less than its width. Where that is little, and nothing failed in it, it is not drawn: it would look like a fall.
const last = series.at(-1);
const covered = last && report.duration_s > last.t ? Math.min(width, report.duration_s - last.t) : width;
const sliver = series.length > 1 && covered < width / 4 && !last.failed;
const end = sliver || !last ? report.duration_s : Math.max(report.duration_s, last.t + width / 2);

// perSecond is a count of each point as a rate.
function perSecond(counts) {
  return counts.map((n, i) => {
    if (i < series.length - 1) return n / width;
    return sliver ? null : n / (covered < width / 4 ? width : covered);
  });
}

const overTime = () => ({ time: false, range: () => [0, end] });
const draws = {
  requests(figure) {
    const names = report.closed_loop ? ["sent", "ok", "failed"] : ["asked", "sent", "ok", "failed"];
    chart(figure, {
      label: "Requests per second over time: " + names.join(", "),
      x: middle,
      series: names.map((name) => ({ name, values: perSecond(series.map((s) => s[name])) })),
      at: (i) => times[i],
      value: (v) => rate(v) + "/s",
      together: "time",
      options: () => ({
        top: marks.length ? 1.5 * rem() : undefined,
        scales: { x: overTime(), y: { range: fromZero } },
        axes: [timeAxis(), valueAxis((v) => rate(v) + "/s")],
        series: ({ name }) => ({
          stroke: colour("--" + name),
          width: name === "sent" ? 3 : name === "ok" ? 1.5 : 1.25,
          fill: name === "asked" ? colour("--asked", 0.16) : name === "failed" ? colour("--failed", 0.25) : undefined,
          paths: name === "asked" ? uPlot.paths.stepped({ align: 1 }) : undefined,
        }),
        hooks: { draw: [drawMarks(marks, true)] },
      }),
    });
    listMarks(marks, figure.querySelector(".marks"));
    behind(figure.querySelector("details"), "Requests over time", ["time", ...names], () =>
      series.map((s, i) => [times[i], ...names.map((name) => count(s[name]))]));
  },

  latency(figure) {
    const all = [["p50", "p50_ns"], ["p90", "p90_ns"], ["p99", "p99_ns"], ["p99.9", "p999_ns"]].filter(([, member]) => member in series[0]);
    chart(figure, {
      label: "Percentiles of latency over time",
      x: middle,
      series: all.map(([name, member]) => ({ name, member, values: series.map((s) => s[member] || null) })),
      at: (i) => times[i],
      value: duration,
      together: "time",
      options: () => ({
        scales: { x: overTime(), y: { distr: 3, range: logRange } },
        axes: [timeAxis(), latencyAxis()],
        series: ({ member }) => ({ stroke: colour("--" + member.replace("_ns", "")), width: 1.5 }),
        hooks: { draw: [drawMarks(marks, false)] },
      }),
    });
    behind(figure.querySelector("details"), "Percentiles of latency over time", ["time", ...all.map(([name]) => name)], () =>
      series.map((s, i) => [times[i], ...all.map(([, member]) => (s[member] ? duration(s[member]) : "–"))]));
  },

  percentiles(figure) {
    const lines = [["latency", curve.latency, "--latency"], ["service time", curve.service, "--service"]].filter(([, values]) => values);
    const name = (i) => (curve.one_in[i] === 1 ? "minimum" : "p" + Number((100 - 100 / curve.one_in[i]).toPrecision(7)));
    chart(figure, {
      label: "Latency by percentile, on a logarithmic axis",
      x: curve.one_in,
      series: lines.map(([name, values, tone]) => ({ name, values, tone })),
      at: (i) => `${name(i)}: 1 in ${count(Math.round(curve.one_in[i]))} is slower`,
      value: duration,
      options: () => ({
        scales: { x: { time: false, distr: 3, range: () => [1, Math.max(10, curve.one_in.at(-1))] }, y: { distr: 3, range: logRange } },
        axes: [oneInAxis(), latencyAxis()],
        series: ({ name, tone }) => ({ stroke: colour(tone), width: name === "latency" ? 3 : 1.5, dash: name === "latency" ? [] : [6, 4] }),
        hooks: {},
      }),
    });
    behind(figure.querySelector("details"), "Latency by percentile", ["percentile", ...lines.map(([name]) => name)], () =>
      curve.one_in.map((n, i) => [name(i), ...lines.map(([, values]) => (values[i] === null ? "–" : duration(values[i])))]));
  },

  heat(figure) {
    heatMap(figure, heat, marks, end);
  },

  errors(figure) {
    const shown = 8;
    const classes = Object.keys(report.errors).sort((a, b) => report.errors[b] - report.errors[a]);
    const rest = classes.slice(shown);
    const sum = (s, names) => names.reduce((n, name) => n + (s.errors?.[name] ?? 0), 0);
    const lines = classes.slice(0, shown).map((name) => ({ name, names: [name] }));
    if (rest.length) lines.push({ name: `${rest.length} more`, names: rest });
    chart(figure, {
      label: "Failed requests per second over time, by class",
      x: middle,
      series: lines.map(({ name, names }) => ({ name, values: perSecond(series.map((s) => sum(s, names))) })),
      at: (i) => times[i],
      value: (v) => rate(v) + "/s",
      together: "time",
      options: () => ({
        scales: { x: overTime(), y: { range: fromZero } },
        axes: [timeAxis(), valueAxis((v) => rate(v) + "/s")],
        series: (s, i) => ({ stroke: colour("--line-" + i), width: 1.5, fill: colour("--line-" + i, 0.12) }),
        hooks: { draw: [drawMarks(marks, false)] },
      }),
    });
    behind(figure.querySelector("details"), "Failed requests over time", ["time", ...lines.map((l) => l.name)], () =>
      series.map((s, i) => [times[i], ...lines.map((l) => count(sum(s, l.names)))]));
  },
};

document.documentElement.classList.add("scripted"); // without scripts there is no room kept for charts
for (const figure of document.querySelectorAll("figure[data-chart]")) {
  draws[figure.dataset.chart](figure);
}
requestAnimationFrame(() => performance.measure("drawn", { start: 0 }));
