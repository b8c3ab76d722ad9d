import { element, say } from "./dom.js";
import { duration } from "./format.js";
import { openButton } from "./samples.js";
import { visible } from "./visible.js";

const most = 10; // as many are kept of each step
const precision = 0.001; // of a percentile: it is the upper edge of a bucket
const percentiles = [["p99", "p99"], ["p999", "p99.9"], ["max", "max"]];

/* slowSamples are the buttons that show slow requests: the slowest of each step, and those that took at least as long as a percentile.
   show(report) keeps them current. has(query) says whether a button is worth having. */
export function slowSamples(panel, has = () => true) {
  const row = element("p", "openers");
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "Samples of slow requests");
  const known = new Map();
  const add = (key, title, query) => {
    if (known.has(key)) return known.get(key);
    const button = panel.opener(openButton(), () => [title(), query()]);
    known.set(key, button);
    row.append(button);
    return button;
  };
  const bounds = {};
  return {
    box: row,
    show: (report) => {
      const steps = report.steps?.length ? report.steps.map((s) => s.name) : [""];
      for (const step of steps) {
        const of = step ? ` of ${visible(step)}` : "";
        if (has({ step, slowest: most })) say(add("step " + step, () => `The ${most} slowest${of}`, () => ({ step, slowest: most })), `the slowest ${most}${of}`);
      }
      for (const [member, name] of percentiles) {
        bounds[member] = report.latency_ns[member];
        const query = () => ({ least: Math.floor(bounds[member] * (1 - precision)) });
        if (!bounds[member] || !has(query())) continue;
        const words = () => `${name}, ${duration(bounds[member])}, and slower`;
        say(add(member, () => "Requests at " + words(), query), words());
      }
    },
  };
}
