import { element } from "./dom.js";
import { clock, count } from "./format.js";
import { cells, rows, section, table } from "./parts.js";
import { endpointsLink } from "./route.js";

const shown = 100;

// events is a table of the newest events of the run, the newest first. People read changes, as answers have events too.
export function events() {
  const box = section("Changes", "", "What changed the run, the newest first.");
  const none = element("p", "empty", "Nothing has happened yet.");
  const t = table("events", "Changes of the run", ["change", "#after", "UTC", "who", "what"]);
  const more = element("p", "hint");
  const fill = rows(t.body, (e) => e.key, (line, { e: event }) => {
    const set = cells(line, ["", "n", "", "", ""]);
    line.cells[4].append(event.what ?? "", ...(byBudget(event) ? [" (", endpoints(), ")"] : []));
    return ({ e, after }) => set([e.kind, after, e.at.slice(11, 19), e.who]);
  });
  box.append(none, t.box, more);
  return {
    box,
    show: ({ report }) => {
      const all = report.events ?? [];
      const start = Date.parse(report.started_at);
      const twins = new Map(); // events that look the same
      const items = all.map((e) => {
        const name = [e.at, e.kind, e.who, e.what].join("\n");
        twins.set(name, (twins.get(name) ?? 0) + 1);
        return { e, after: sinceStart(Date.parse(e.at) - start), key: name + twins.get(name) };
      });
      fill(items.reverse().slice(0, shown));
      none.hidden = items.length > 0;
      t.box.hidden = !items.length;
      more.hidden = items.length <= shown;
      more.textContent = `and ${count(items.length - shown)} older ones, in the report`;
    },
  };
}

// byBudget tells whether the budget of an endpoint has changed the run.
const byBudget = (e) => ["scale", "pause", "resume"].includes(e.kind) && /\bits endpoint\b/.test(e.what ?? "");

// endpoints is a link to the budgets.
function endpoints() {
  const a = element("a", "", "see Endpoints");
  a.href = endpointsLink;
  return a;
}

// sinceStart is a time after the start of the run; "" if that is unknown.
function sinceStart(ms) {
  if (!(Math.abs(ms) < 1e12)) return "";
  return (ms < 0 ? "−" : "") + clock(Math.floor(Math.abs(ms) / 1000));
}
