import { plotted, whyNothing } from "./charts.js";
import { element } from "./dom.js";
import { count, duration, share, tick } from "./format.js";
import { heatMap } from "./heat.js";
import { cells, rows, section, table } from "./parts.js";
import { spread } from "./spread.js";

// labelsView shows each label (step of a flow) beside the others, and when which latencies were.
export function labelsView(root) {
  const box = section("Labels", "", "A label is a step of a flow, or a name that the workload gives to requests. The bar: thin from the fastest to the slowest, thick from p50 to p99.");
  const t = table("counts labels", "Labels", ["label", "#sent", "#ok", "#failed", "#share failed", "#in flight", "#p50", "#p90", "#p99", "#p99.9", "#max", "where the latencies were"]);
  const axis = element("p", "hint");
  box.append(t.box, axis);
  const fill = rows(t.body, (s) => s.name, labelRow);
  const scale = element("p", "scale");
  scale.setAttribute("aria-hidden", "true");
  scale.append("1 request in a cell ", element("span", "ramp"), " ", element("span", "most"));
  const heat = plotted({
    name: "heat", title: "Where the latencies were over time", hint: "Of all labels. Each column is a span of time; the stronger its colour, the more requests ended with that latency.",
    empty: (frame) => whyNothing(frame) || (frame.heat ? "" : "There are no histograms over time yet."),
    options: (frame, time) => heatMap(frame, time, scale),
  });
  root.append(box, heat.box);
  return {
    show: (frame) => {
      const all = labelsOf(frame.report);
      const low = Math.min(...all.filter((s) => s.latency_ns.max).map((s) => s.latency_ns.min));
      const high = Math.max(...all.map((s) => s.latency_ns.max));
      fill(all.map((s) => ({ ...s, low, high })));
      axis.textContent = high > 0 ? `The bars go from ${tick(low)} to ${tick(high)}, on a logarithmic scale.` : "";
      heat.show(frame);
    },
    end: () => heat.end(),
  };
}

// labelsOf are the steps of a report; a run without any is one label.
function labelsOf(r) {
  if (r.steps?.length) return r.steps;
  return [{ name: "all requests", sent: r.audit.sent, completed: r.audit.completed, failed: r.audit.failed, in_flight: r.audit.in_flight, latency_ns: r.latency_ns }];
}

function labelRow(line) {
  const set = cells(line, ["", ...Array(10).fill("n")]);
  const last = element("td", "graph");
  const bar = spread();
  last.append(bar.svg);
  line.append(last);
  return (s) => {
    const l = s.latency_ns;
    const ended = s.completed + s.failed;
    set([s.name, count(s.sent), count(s.completed), count(s.failed), ended ? share(s.failed / ended) : "–", count(s.in_flight),
      ...[l.p50, l.p90, l.p99, l.p999, l.max].map((ns) => (l.max ? duration(ns) : "–"))]);
    bar.show(l, s.low, s.high);
  };
}
