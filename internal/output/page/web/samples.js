import { element } from "./dom.js";
import { exchange } from "./exchange.js";
import { count, duration } from "./format.js";
import { visible } from "./visible.js";

/* Requests that were kept as evidence. A query says which: { class, step, slowest, least }; class and step are names, slowest is how many
   of the slowest, least is the least latency in ns. What a query leaves out does not matter. */

// chosen returns those of all samples that a query wants, as the server does.
export function chosen(all, q) {
  const found = all.filter((s) => (!q.class || s.class === q.class) && (!q.step || s.step === q.step) && s.latency_ns >= (q.least ?? 0));
  if (q.slowest || q.least) found.sort((a, b) => b.latency_ns - a.latency_ns);
  return q.slowest ? found.slice(0, q.slowest) : found;
}

/* samplePanel is the place where buttons show samples. ask(query) promises { total, samples }; traceURL() is the address of traces. */
export function samplePanel(id, { ask, traceURL }) {
  const box = element("div", "samples");
  box.id = id;
  box.hidden = true;
  box.setAttribute("role", "region");
  const s = { open: null, turn: 0 };
  const close = () => {
    s.open?.setAttribute("aria-expanded", "false");
    s.open = null;
    s.turn++;
    box.hidden = true;
    box.replaceChildren();
  };
  const show = async (button, title, query) => {
    close();
    const turn = s.turn;
    s.open = button;
    button.setAttribute("aria-expanded", "true");
    box.setAttribute("aria-label", title);
    const said = element("p", "lead", "…");
    said.setAttribute("role", "status");
    box.append(element("h3", "", title), said);
    box.hidden = false;
    try {
      const found = await ask(query);
      if (turn === s.turn) fillPanel(box, said, found, traceURL());
    } catch (e) {
      if (turn === s.turn) said.textContent = e.message;
    }
  };
  return {
    box,
    // opener makes a button open samples, and close them. of() returns their title and query.
    opener: (button, of) => {
      button.setAttribute("aria-expanded", "false");
      button.setAttribute("aria-controls", id);
      button.addEventListener("click", () => (s.open === button ? close() : show(button, ...of())));
      return button;
    },
  };
}

// fillPanel shows what was found, with a switch for each of several steps.
function fillPanel(box, said, { total, samples }, traceURL) {
  said.textContent = !total ? "No such request was kept." : total > samples.length ? `${count(samples.length)} of ${count(total)} that were kept:` : `${count(total)} ${total === 1 ? "was" : "were"} kept:`;
  if (!samples.length) return;
  const list = element("ol", "kept");
  const show = (step) => list.replaceChildren(columnNames(), ...samples.filter((s) => !step || s.step === step).map((s) => sampleLine(s, traceURL)));
  const steps = [...new Set(samples.map((s) => s.step))].filter(Boolean);
  if (steps.length > 1) box.append(stepSwitches(steps, samples, show));
  show("");
  box.append(list);
}

// stepSwitches chooses one of the steps, or all.
function stepSwitches(steps, samples, show) {
  const row = element("p", "openers");
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "Steps");
  const all = ["", ...steps].map((step) => {
    const n = samples.filter((s) => !step || s.step === step).length;
    const b = openButton(`${step ? visible(step) : "all steps"} ${count(n)}`);
    b.addEventListener("click", () => {
      all.forEach((other) => other.setAttribute("aria-pressed", String(other === b)));
      show(step);
    });
    b.setAttribute("aria-pressed", String(!step));
    return b;
  });
  row.append(...all);
  return row;
}

const columnsOfSamples = [
  ["ordinal", (s) => count(s.ordinal)], ["step", (s) => visible(s.step) || "–"], ["worker", (s) => visible(s.worker)], ["why", (s) => visible((s.why ?? []).join(", "))],
  ["status", (s) => visible([s.class, s.status || ""].filter(Boolean).join(" ")) || "–"], ["first byte", (s) => (s.first_byte_ns ? duration(s.first_byte_ns) : "–")],
  ["latency", (s) => duration(s.latency_ns)],
];

// columnNames is the head of a list of samples, for those who see it: each line says them too.
function columnNames() {
  const line = element("li", "names");
  line.setAttribute("aria-hidden", "true");
  line.append(...columnsOfSamples.map(([name]) => element("span", "", name)));
  return line;
}

// sampleLine is a line with a request, and behind it all that was kept of it: that is made when it is opened, because it may be long.
function sampleLine(s, traceURL) {
  const line = element("li");
  const details = element("details");
  const summary = element("summary");
  for (const [name, of] of columnsOfSamples) {
    const cell = element("span", name === "status" && s.class ? "bad" : "");
    cell.append(element("span", "label", name + " "), of(s));
    summary.append(cell);
  }
  details.append(summary);
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(exchange(s, traceURL));
  });
  line.append(details);
  return line;
}

// openButton is a button that opens samples.
export function openButton(text) {
  const b = element("button", "opens", text);
  b.type = "button";
  return b;
}
