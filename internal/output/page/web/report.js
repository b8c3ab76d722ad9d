import { chart } from "./chart.js";
import { heatMap } from "./heat.js";
import { errorsOverTime, latencyByPercentile, latencyOverTime, queryOverTime, requestsOverTime, streamsOverTime } from "./lines.js";
import { listMarks } from "./marks.js";
import { openSamples } from "./opened.js";
import { timeline } from "./timeline.js";

/* The page of a report. Its numbers and tables are there already; this draws the charts that have something to show, and opens samples,
   from the JSON in the page. */
const drawing = JSON.parse(document.getElementById("data").textContent);
const time = timeline(drawing.report);
const draws = {
  requests: () => requestsOverTime(drawing, time),
  latency: () => latencyOverTime(drawing, time),
  "first-event": () => streamsOverTime(drawing, time, "first_event"),
  "event-gap": () => streamsOverTime(drawing, time, "event_gap"),
  percentiles: () => latencyByPercentile(drawing),
  heat: (figure) => heatMap(drawing, time, figure.querySelector(".scale")),
  errors: () => errorsOverTime(drawing, time),
};

for (const [i, q] of (drawing.report.queries ?? []).entries()) draws[`query-${i}`] = () => queryOverTime(drawing, time, q.name);

document.documentElement.classList.add("scripted"); // without scripts there is no room kept for charts
for (const figure of document.querySelectorAll("figure[data-chart]")) {
  chart(figure, draws[figure.dataset.chart](figure));
  const list = figure.querySelector(".marks");
  if (list) listMarks(drawing.marks, list);
}
openSamples(drawing.report);
requestAnimationFrame(() => performance.measure("drawn", { start: 0 }));
