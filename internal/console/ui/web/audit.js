import { element, say } from "./dom.js";
import { count } from "./format.js";
import { section } from "./parts.js";

// audit says where all requests went, beside the limits that were met and the notes.
export function audit() {
  const pair = element("div", "pair");
  const sum = section("Audit");
  const lead = element("p", "lead");
  const equation = element("p", "equation");
  sum.append(lead, equation);
  const whose = section("Whose limit it was");
  const limit = element("p", "lead");
  const limits = element("ul", "lines");
  const title = element("h3", "", "Notes");
  const notes = element("ul", "lines");
  whose.append(limit, limits, title, notes);
  pair.append(sum, whose);
  const terms = termsOf(equation);
  return {
    box: pair,
    show: (frame) => {
      const check = frame.checks.find((c) => c.name === "audit");
      say(lead, check?.result === "passed" ? "Every request is accounted for." : frame.report.running ? "The run goes on. Held requests belong to a worker that has not reported them yet." : check?.text ?? "");
      terms(equationOf(frame.report));
      const found = limitsOf(frame.fleet);
      const generator = frame.checks.find((c) => c.name === "generator");
      say(limit, found.length ? "" : generator?.result === "undecided" ? `It cannot be told: ${generator.text}.` : "No worker met a limit of its own.");
      lines(limits, found);
      lines(notes, frame.report.notes ?? []);
      title.hidden = notes.hidden = !frame.report.notes?.length;
    },
  };
}

// equationOf is what was asked for, and what became of it; of a closed loop what was sent.
function equationOf(r) {
  const a = r.audit;
  const left = r.closed_loop ? ["sent", a.sent] : ["asked", a.asked];
  const right = r.closed_loop
    ? [["", "completed", a.completed], ["+", "failed", a.failed], ["+", "in flight", a.in_flight]]
    : [["", "sent", a.sent], ["−", "overrun", a.overrun], ["+", "late dropped", a.late_dropped], ["+", "skipped", a.skipped], ["+", "lost", a.lost], ["+", "held", a.held],
      ["+", "ungranted", a.ungranted]];
  const total = right.reduce((n, [sign, , v]) => n + (sign === "−" ? -v : v), 0);
  return [["", ...left], [total === left[1] ? "=" : "≠", ...right[0].slice(1)], ...right.slice(1).filter(([, , n]) => n)];
}

// termsOf shows an equation; its elements are made anew only when another term appears.
function termsOf(box) {
  let shape = "";
  return (all) => {
    const now = all.map(([sign, name]) => sign + name).join();
    if (now !== shape) {
      shape = now;
      box.replaceChildren(...all.flatMap(([sign, name]) => {
        const term = element("span", "term");
        term.append(element("b"), " " + name);
        return sign ? [element("span", "op", sign), term] : [term];
      }));
    }
    box.querySelectorAll("b").forEach((b, i) => say(b, count(all[i][2])));
  };
}

// limitsOf is a line for each cause, with the text of one of the workers that met it.
function limitsOf(workers) {
  const met = new Map();
  for (const w of workers) {
    for (const v of w.verdicts ?? []) {
      const key = v.limit + ":" + v.cause;
      if (!met.has(key)) met.set(key, { ...v, who: w.id, ids: new Set() });
      met.get(key).ids.add(w.id);
    }
  }
  return [...met.values()].map((v) => `${v.limit}: ${v.text} (${v.who}${v.ids.size > 1 ? ` and ${count(v.ids.size - 1)} more` : ""})`);
}

// lines shows at most 50 texts.
function lines(list, texts) {
  const shown = texts.slice(0, 50);
  while (list.children.length > shown.length) list.lastChild.remove();
  shown.forEach((text, i) => say(list.children[i] ?? list.appendChild(element("li")), text));
}
