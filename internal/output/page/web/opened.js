import { chosen, openButton, samplePanel } from "./samples.js";
import { slowSamples } from "./slow.js";

// openSamples makes the classes of failures and the times of a report open the samples that are in it.
export function openSamples(report) {
  const all = report.samples ?? [];
  if (!all.length) return;
  const source = {
    ask: (query) => {
      const samples = chosen(all, query);
      return Promise.resolve({ total: samples.length, samples });
    },
    traceURL: () => report.described.trace_url,
  };
  const failed = document.getElementById("class");
  if (failed) {
    const panel = samplePanel("samples-failed", source);
    const classes = new Set(all.map((s) => s.class).filter(Boolean));
    for (const head of failed.querySelectorAll("tbody th")) {
      const name = head.textContent;
      if (classes.has(name)) head.replaceChildren(panel.opener(openButton(name), () => ["Failed requests: " + name, { class: name }]));
    }
    failed.append(panel.box);
  }
  const times = document.getElementById("times");
  if (times) {
    const panel = samplePanel("samples-slow", source);
    const slow = slowSamples(panel, (query) => chosen(all, query).length > 0);
    slow.show(report);
    times.append(slow.box, panel.box);
  }
}
