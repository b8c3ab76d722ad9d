import { aroundValues, fromZero, latencyAxis, logRange, oneInAxis, timeAxis, valueAxis } from "./axes.js";
import { count, duration, number, rate } from "./format.js";
import { drawMarks } from "./marks.js";
import { colour, rem } from "./theme.js";

/* The line charts of a report, as options for chart(). Each takes a drawing and its timeline: report is the JSON report; curve, heat and
   marks come with it. */

// requestsOverTime shows what was asked for, and what became of it.
export function requestsOverTime({ report, marks }, time) {
  const names = report.closed_loop ? ["sent", "ok", "failed"] : ["asked", "sent", "ok", "failed"];
  const series = report.series;
  return {
    label: "Requests per second over time: " + names.join(", "),
    x: time.middle,
    series: names.map((name) => ({ name, values: time.perSecond(series.map((s) => s[name])) })),
    at: (i) => time.times[i],
    value: (v) => rate(v) + "/s",
    together: "time",
    options: () => ({
      top: marks.length ? 1.5 * rem() : undefined,
      scales: { x: time.scale(), y: { range: fromZero } },
      axes: [timeAxis(), valueAxis((v) => rate(v) + "/s")],
      series: ({ name }) => ({
        stroke: colour("--" + name),
        width: name === "sent" ? 3 : name === "ok" ? 1.5 : 1.25,
        fill: name === "asked" ? colour("--asked", 0.16) : name === "failed" ? colour("--failed", 0.25) : undefined,
        paths: name === "asked" ? uPlot.paths.stepped({ align: 1 }) : undefined,
      }),
      hooks: { draw: [drawMarks(marks, true)] },
    }),
    table: { caption: "Requests over time", columns: ["time", ...names], rows: () => series.map((s, i) => [time.times[i], ...names.map((name) => count(s[name]))]) },
  };
}

// latencyOverTime shows the percentiles of each point that it has.
export function latencyOverTime(drawing, time) {
  const [first] = drawing.report.series;
  return percentilesOverTime("latency", drawing, time, percents.filter(([, member]) => !first || member + "_ns" in first), (s, member) => s[member + "_ns"]);
}

// streamsOverTime shows the same of a time of answers in pieces: first_event or event_gap.
export function streamsOverTime(drawing, time, name) {
  return percentilesOverTime(name.replace("_", " "), drawing, time, percents, (s, member) => s.streams?.[name + "_ns"][member]);
}

const percents = [["p50", "p50"], ["p90", "p90"], ["p99", "p99"], ["p99.9", "p999"]];

// percentilesOverTime shows percentiles of each point: names and members, of which of(point, member) is the value.
function percentilesOverTime(what, { report, marks }, time, all, of) {
  const series = report.series;
  return {
    label: `Percentiles of ${what} over time`,
    x: time.middle,
    series: all.map(([name, member]) => ({ name, member, values: series.map((s) => of(s, member) || null) })),
    at: (i) => time.times[i],
    value: duration,
    together: "time",
    options: () => ({
      scales: { x: time.scale(), y: { distr: 3, range: logRange } },
      axes: [timeAxis(), latencyAxis()],
      series: ({ member }) => ({ stroke: colour("--" + member), width: 1.5 }),
      hooks: { draw: [drawMarks(marks, false)] },
    }),
    table: {
      caption: `Percentiles of ${what} over time`, columns: ["time", ...all.map(([name]) => name)],
      rows: () => series.map((s, i) => [time.times[i], ...all.map(([, member]) => (of(s, member) ? duration(of(s, member)) : "–"))]),
    },
  };
}

// queryOverTime shows what a query answered, where it was asked. A line ends where it gave no answer.
export function queryOverTime({ report, marks }, time, name) {
  const places = report.series.flatMap((s, i) => (s.queries?.[name] ? [i] : []));
  const values = places.map((i) => report.series[i].queries[name]);
  const many = values.some((v) => v.n > 1);
  const all = many ? [["mean", "avg", "--latency"], ["max", "max", "--p999"], ["min", "min", "--service"]] : [["value", "avg", "--latency"]];
  return {
    label: `Values of the query ${name} over time`,
    x: places.map((i) => time.middle[i]),
    series: all.map(([line, member, tone]) => ({ name: line, tone, values: values.map((v) => (v.n ? v[member] : null)) })),
    at: (i) => time.times[places[i]],
    value: number,
    together: "time",
    options: () => ({
      scales: { x: time.scale(), y: { range: aroundValues } },
      axes: [timeAxis(), valueAxis(number)],
      series: ({ tone }, i) => ({ stroke: colour(tone), width: i === 0 ? 2 : 1 }),
      hooks: { draw: [drawMarks(marks, false)] },
    }),
    table: {
      caption: `Values of the query ${name} over time`, columns: ["time", ...all.map(([line]) => line)],
      rows: () => values.map((v, i) => [time.times[places[i]], ...all.map(([, member]) => (v.n ? number(v[member]) : "–"))]),
    },
  };
}

// latencyByPercentile shows how many requests are slower than a latency.
export function latencyByPercentile({ curve }) {
  return byPercentile(curve.one_in, [["latency", curve.latency, "--latency"], ["service time", curve.service, "--service"], ["first byte", curve.first_byte, "--line-3"],
    ["first event", curve.first_event, "--line-4"], ["event gap", curve.event_gap, "--line-5"]].filter(([, values]) => values));
}

// byPercentile shows lines by percentile, of which each is a name, its values and its colour. The first one is strong, the others are dashed.
export function byPercentile(oneIn, lines) {
  const name = (i) => (oneIn[i] === 1 ? "minimum" : "p" + Number((100 - 100 / oneIn[i]).toPrecision(7)));
  return {
    label: "Latency by percentile, on a logarithmic axis",
    x: oneIn,
    series: lines.map(([name, values, tone]) => ({ name, values, tone })),
    at: (i) => `${name(i)}: 1 in ${count(Math.round(oneIn[i]))} is slower`,
    value: duration,
    options: () => ({
      scales: { x: { time: false, distr: 3, range: () => [1, Math.max(10, oneIn.at(-1))] }, y: { distr: 3, range: logRange } },
      axes: [oneInAxis(), latencyAxis()],
      series: ({ tone }, i) => ({ stroke: colour(tone), width: i === 0 ? 3 : 1.5, dash: i === 0 ? [] : [6, 4] }),
      hooks: {},
    }),
    table: {
      caption: "Latency by percentile", columns: ["percentile", ...lines.map(([name]) => name)],
      rows: () => oneIn.map((n, i) => [name(i), ...lines.map(([, values]) => (values[i] === null || values[i] === undefined ? "–" : duration(values[i])))]),
    },
  };
}

// errorsOverTime shows the failed requests, by class.
export function errorsOverTime({ report, marks }, time) {
  const shown = 8;
  const series = report.series;
  const classes = Object.keys(report.errors).sort((a, b) => report.errors[b] - report.errors[a]);
  const rest = classes.slice(shown);
  const sum = (s, names) => names.reduce((n, name) => n + (s.errors?.[name] ?? 0), 0);
  const lines = classes.slice(0, shown).map((name) => ({ name, names: [name] }));
  if (rest.length) lines.push({ name: `${rest.length} more`, names: rest });
  return {
    label: "Failed requests per second over time, by class",
    x: time.middle,
    series: lines.map(({ name, names }) => ({ name, values: time.perSecond(series.map((s) => sum(s, names))) })),
    at: (i) => time.times[i],
    value: (v) => rate(v) + "/s",
    together: "time",
    options: () => ({
      scales: { x: time.scale(), y: { range: fromZero } },
      axes: [timeAxis(), valueAxis((v) => rate(v) + "/s")],
      series: (s, i) => ({ stroke: colour("--line-" + i), width: 1.5, fill: colour("--line-" + i, 0.12) }),
      hooks: { draw: [drawMarks(marks, false)] },
    }),
    table: {
      caption: "Failed requests over time", columns: ["time", ...lines.map((l) => l.name)],
      rows: () => series.map((s, i) => [time.times[i], ...lines.map((l) => count(sum(s, l.names)))]),
    },
  };
}
