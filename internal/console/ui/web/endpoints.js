import { budgetsPath } from "./api.js";
import { budgetHand } from "./budget.js";
import { element, say } from "./dom.js";
import { count, rate } from "./format.js";
import { button, rows, section, table } from "./parts.js";
import { poll } from "./poll.js";
import { link } from "./route.js";
import { linked, more, when } from "./runs.js";

// endpointsPage shows what runs may send at endpoints together, and what they hold of it.
export function endpointsPage(root, route, shell) {
  document.title = "Endpoints · loadctl";
  const head = element("header");
  head.append(element("h1", "", "Endpoints"));
  const grants = element("p", "grants");
  grants.setAttribute("role", "status");
  const view = element("div", "view with-side");
  const side = element("aside", "side");
  side.setAttribute("aria-label", "Change budgets");
  const hand = budgetHand(shell.tell, () => polled.now());
  side.append(hand.box);
  const parts = [budgetsPart(hand), heldPart()];
  view.append(parts[0].box, side, parts[1].box);
  root.append(head, grants, view);
  const show = (doc) => {
    const quiet = doc.quiet_until;
    grants.className = quiet ? "grants trouble" : "grants lead";
    say(grants, quiet ? `Nothing new is granted until ${when(quiet)}: these budgets are new in this Redis, or it may have forgotten what runs hold.` : "The ledger grants what is left.");
    hand.show(doc);
    parts.forEach((p) => p.show(doc));
    shell.news("");
  };
  const polled = poll(budgetsPath, show, shell.news);
  return { accepts: (r) => r.kind === "endpoints", turn: () => {}, end: polled.end };
}

// budgetsPart is the table of all budgets, and of the hosts without one where runs hold something.
function budgetsPart(hand) {
  const box = section("Budgets", "", "What all runs together may send, in requests per second. Of several that fit an endpoint the narrowest counts.");
  const none = element("p", "empty", "There are no budgets, and no run holds anything.");
  const t = table("counts endpoints", "Budgets", ["endpoint", "#rate", "#reserved", "#left", "#runs", "state", "", "why, or note", "by"]);
  box.append(none, t.box);
  none.hidden = t.box.hidden = true;
  const fill = rows(t.body, (e) => e.host, (line, e) => budgetRow(line, e, hand));
  return {
    box,
    show: (doc) => {
      const own = new Map(doc.budgets.map((b) => [b.name, b]));
      fill(doc.hosts.map((e) => ({ ...e, own: own.get(e.host), runs: own.get(e.host)?.runs ?? doc.rows.filter((r) => r.host.replace(/:\d+$/, "") === e.host).length, can: doc.control })));
      none.hidden = doc.hosts.length > 0;
      t.box.hidden = !doc.hosts.length;
    },
  };
}

function budgetRow(line, first, hand) {
  const name = element("th");
  name.scope = "row";
  name.append(element("code", "", first.host));
  line.append(name);
  const set = more(line, ["n", "n", "n", "n", "", "", "", "when"]);
  const pill = element("span");
  line.cells[5].append(pill);
  const buttons = element("div", "buttons");
  let newest = first;
  const stop = button("Freeze…", "danger", () => (newest.own?.frozen ? hand.thaw(newest.host) : hand.freeze(newest.host)));
  const change = button("Change", "plain", () => hand.change(newest));
  buttons.append(stop, change);
  line.cells[6].append(buttons);
  return (e) => {
    newest = e;
    set([bound(e), rate(e.own?.reserved ?? e.reserved), e.left === undefined ? "–" : rate(e.left), count(e.runs), undefined, undefined, said(e), by(e)]);
    say(pill, e.frozen ? "frozen" : "open");
    pill.className = "phase " + (e.frozen ? "frozen" : "open");
    say(stop, e.own?.frozen ? "Thaw…" : "Freeze…");
    stop.className = e.own?.frozen ? "plain" : "danger";
    for (const b of [change, stop]) {
      b.setAttribute("aria-label", `${b.textContent.replace("…", "")} ${e.host}`);
      b.disabled = !e.can;
    }
  };
}

// bound is the rate of an endpoint, and by which budget, if that is another one.
function bound(e) {
  if (!e.budget) return "none";
  if (e.host === "*") return `${rate(e.rate)} each`;
  return rate(e.rate) + (e.own?.rate ? "" : ` by ${e.budget}`);
}

// said is what people say about a budget: why it is frozen, and the note of its rate.
function said({ own, frozen }) {
  return [frozen && (own?.frozen ? own.why : "a wider name is frozen"), own?.note].filter(Boolean).join(" · ") || "–";
}

function by({ own }) {
  if (!own) return "–";
  return own.frozen ? `${own.frozen_by || "–"}, ${when(own.frozen_at)}` : `${own.by || "–"}, ${when(own.set_at)}`;
}

// heldPart is the table of what each run holds.
function heldPart() {
  const box = section("What runs hold", "", "A run may send this until the time in the table, unless it renews that: every 3 seconds.");
  const none = element("p", "empty", "No run holds anything.");
  const t = table("counts", "What runs hold", ["run", "endpoint", "#rate", "#ends in", "#comes down to", "budget", "created by", "since"]);
  box.append(none, t.box);
  none.hidden = t.box.hidden = true;
  const fill = rows(t.body, (r) => `${r.uid} ${r.host}`, (line, r) => {
    linked(line, r.run || r.uid, r.run && link("run", r.run));
    const set = more(line, ["", "n", "n", "n", "", "", "when"]);
    return (now) => set([now.host, rate(now.rate), ends(now), now.down_to ? rate(now.down_to) : "–", now.budget || "none", now.who || "–", when(now.since)]);
  });
  return {
    box,
    show: (doc) => {
      fill(doc.rows.map((r) => ({ ...r, at: doc.at })));
      none.hidden = doc.rows.length > 0;
      t.box.hidden = !doc.rows.length;
    },
  };
}

// ends is the time that a row has left, and when that is.
function ends({ until, at }) {
  return `${Math.max(0, Math.round((Date.parse(until) - Date.parse(at)) / 1000))} s (${until.slice(11, 19)})`;
}
