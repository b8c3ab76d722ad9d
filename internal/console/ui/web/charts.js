import { chart } from "./chart.js";
import { element } from "./dom.js";
import { listMarks } from "./marks.js";
import { figure } from "./parts.js";
import { timeline } from "./timeline.js";

/* plotted is a chart of a run that goes on. empty(frame) says why there is nothing to draw, "" if there is; options(frame, time, fig)
   are those of chart(). It is made when there is first something to draw. */
export function plotted({ name, title, hint, marks, empty, options }) {
  const f = figure(name, title, hint);
  const list = element("ol", "marks");
  if (marks) f.fig.querySelector("details").before(list);
  let drawn = null;
  let listed = "";
  return {
    box: f.box,
    fig: f.fig,
    show: (frame) => {
      const why = empty(frame);
      f.empty.hidden = !why;
      f.empty.textContent = why;
      f.fig.hidden = Boolean(why);
      if (why) return;
      const o = options(frame, timeline(frame.report), f.fig);
      if (drawn) drawn.set(o);
      else drawn = chart(f.fig, o);
      const now = JSON.stringify(frame.marks.slice(-8).concat(frame.marks.length));
      if (marks && now !== listed) listMarks(frame.marks, list);
      listed = now;
    },
    end: () => drawn?.end(),
  };
}

// whyNothing says why there are no times to draw.
export function whyNothing({ report }) {
  if (!report.audit.sent) return "No request was sent yet.";
  if (!report.latency_ns.max) return "No request has ended yet.";
  return report.series.length ? "" : "There are no points over time yet.";
}
