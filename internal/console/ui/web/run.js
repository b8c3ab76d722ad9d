import { plotted, whyNothing } from "./charts.js";
import { archivePath, read, runPath, samplesPath } from "./api.js";
import { audit } from "./audit.js";
import { controls } from "./controls.js";
import { counts } from "./counts.js";
import { element } from "./dom.js";
import { events } from "./events.js";
import { errorsOverTime, latencyByPercentile, latencyOverTime, queryOverTime, requestsOverTime, streamsOverTime } from "./lines.js";
import { samplePanel } from "./samples.js";
import { slowSamples } from "./slow.js";
import { tiles } from "./tiles.js";
import { judged, verdict } from "./verdict.js";

// runView is the first view of a run: what it does, and the hand on it.
export function runView(root, name, tell) {
  const main = element("div", "stack");
  const side = element("aside", "side");
  side.setAttribute("aria-label", "Control");
  root.classList.add("with-side");
  const overTime = element("div", "over-time");
  const pair = element("div", "pair");
  const answers = element("div", "pair");
  const plots = [requests, latency, percentiles, errors].map(plotted);
  overTime.append(plots[0].box, plots[1].box);
  let streamed = false; // the charts of answers in pieces are there
  const stream = ({ report }) => {
    if (streamed || !report.streams) return;
    streamed = true;
    for (const plot of streams.map(plotted)) {
      plots.push(plot);
      overTime.append(plot.box);
    }
  };
  const asked = new Map(); // the charts of queries, by name
  const ask = ({ report }) => {
    for (const q of report.queries ?? []) {
      if (asked.has(q.name) || asked.size >= mostQueries) continue;
      const plot = plotted(query(q));
      asked.set(q.name, plot);
      plots.push(plot);
      overTime.append(plot.box);
    }
  };
  pair.append(plots[2].box, plots[3].box);
  let newest = null; // frame
  const source = {
    ask: (query) => read(samplesPath(newest.archived ? archivePath(name) : runPath(name), query)),
    traceURL: () => newest.report.described.trace_url,
  };
  const slow = slowPart(plots[2].box, source);
  const parts = [verdict(), tiles(), controls(name, tell), judged(), audit(),
    counts("Failed requests", "class", "No request failed.", (r) => r.errors, samplePanel("samples-failed", source)), counts("Answers", "status", "There are no answers yet.", (r) => r.status_codes), events()];
  const [phase, figures, hand, checks, sums, failed, statuses, happened] = parts;
  side.append(hand.box);
  answers.append(failed.box, statuses.box);
  main.append(overTime, checks.box, sums.box, pair, answers, happened.box);
  root.append(phase.box, figures.box, side, main);
  return {
    show: (frame) => {
      newest = frame;
      stream(frame);
      ask(frame);
      [...parts, ...plots, slow].forEach((p) => p.show(frame));
    },
    end: () => plots.forEach((p) => p.end()),
  };
}

// slowPart adds the buttons that show slow requests to the chart of percentiles.
function slowPart(box, source) {
  const panel = samplePanel("samples-slow", source);
  const slow = slowSamples(panel);
  box.append(slow.box, panel.box);
  return {
    show: ({ report }) => {
      slow.box.hidden = !report.latency_ns.max;
      slow.show(report);
    },
  };
}

const requests = {
  name: "requests", title: "Requests over time", hint: "Per second. Numbers on the chart are the changes listed below it.", marks: true,
  empty: ({ report }) => (report.series.length ? "" : "The run has not begun, so there is nothing to draw."),
  options: requestsOverTime,
};
const latency = { name: "latency", title: "Latency over time", hint: "Percentiles of each point, from the time a request was due to its end.", empty: whyNothing, options: latencyOverTime };
const streams = [["first-event", "first_event", "First event over time", "Percentiles of each point, from the time a request was due to the first event of its answer. An answer counts when it has ended."],
  ["event-gap", "event_gap", "Event gap over time", "Percentiles of each point, between consecutive events of an answer."]].map(([name, member, title, hint]) => ({
  name, title, hint,
  empty: ({ report }) => (report.series.some((s) => s.streams?.[member + "_ns"].p50) ? "" : "There are no points over time yet."),
  options: (frame, time) => streamsOverTime(frame, time, member),
}));
const mostQueries = 20;
const query = ({ name, promql }) => ({
  name: "query", title: `Query ${name} over time`, hint: promql,
  empty: ({ report }) => (report.series.some((s) => s.queries?.[name]) ? "" : "The query was not asked yet."),
  options: (frame, time) => queryOverTime(frame, time, name),
});
const percentiles = {
  name: "percentiles", title: "Latency by percentile", hint: "Of the whole run. At p99, 1 request in 100 is slower.",
  empty: (frame) => (frame.curve ? "" : "No request has ended yet."), options: latencyByPercentile,
};
const errors = {
  name: "errors", title: "Failed requests over time", hint: "Per second, by class.",
  empty: (frame) => whyNothing(frame) || (frame.report.audit.failed ? "" : "No request failed."), options: errorsOverTime,
};
