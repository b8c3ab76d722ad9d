import { element, say } from "./dom.js";
import { share } from "./format.js";
import { fresh, rows, section, signs, table } from "./parts.js";

// verdict is the first part of a run: its phase, or its result.
export function verdict() {
  const box = element("section", "verdict");
  const banner = element("div", "banner");
  const sign = element("span", "sign");
  sign.setAttribute("aria-hidden", "true");
  const title = element("h2");
  title.id = fresh();
  box.setAttribute("aria-labelledby", title.id);
  const summary = element("p");
  const words = element("div");
  words.append(title, summary);
  banner.append(sign, words);
  box.append(banner);
  return {
    box,
    show: (frame) => {
      const j = judgement(frame);
      box.className = "verdict " + j.kind;
      say(sign, j.sign);
      say(title, j.title);
      say(summary, j.summary);
    },
  };
}

// judged is the table of all thresholds and checks. While a run goes on it leaves out checks that cannot be decided before its end.
export function judged() {
  const box = section("Thresholds and checks");
  const t = table("judged", "Thresholds and checks", ["result", "threshold or check", "measured"]);
  const none = element("p", "lead", "No thresholds were set. The checks of the audit and of the generator are decided at the end.");
  box.append(none, t.box);
  const fill = rows(t.body, (c) => c.name, checkRow);
  return {
    box,
    show: (frame) => {
      const all = [...thresholds(frame), ...frame.checks.filter((c) => isOwn(c) && !(frame.report.running && c.result === "undecided"))];
      fill(all);
      none.hidden = all.length > 0;
      t.box.hidden = !all.length;
    },
  };
}

function checkRow(line, check) {
  const result = element("td");
  const pill = element("span", "pill");
  result.append(pill);
  const name = element("th");
  name.scope = "row";
  name.append(isOwn(check) ? check.name : element("code", "", check.name));
  const text = element("td");
  line.append(result, name, text);
  return (c) => {
    line.className = c.result;
    say(pill, `${signs[c.result] ?? ""} ${c.result}`);
    say(text, c.text);
  };
}

const isOwn = (check) => check.name === "audit" || check.name === "generator";
const thresholds = (frame) => frame.checks.filter((c) => !isOwn(c));

// judgement is the phase of a run that goes on, and the result of one that is over.
function judgement(frame) {
  const worst = ["failed", "undecided"].find((result) => frame.checks.some((c) => c.result === result)) ?? "passed";
  const summary = summaryOf(frame);
  if (frame.settled) {
    const kind = frame.outcome || worst;
    return { kind, sign: signs[kind], title: capital(kind), summary };
  }
  const failed = thresholds(frame).some((c) => c.result === "failed");
  return { ...phases[frame.phase] ?? phases.waiting, ...(failed ? { kind: "failed" } : {}), summary: `${said(frame)} ${summary}` };
}

const phases = {
  waiting: { kind: "waiting", sign: "…", title: "Waiting" },
  running: { kind: "running", sign: "▶", title: "Running" },
  paused: { kind: "undecided", sign: "‖", title: "Paused" },
  stopped: { kind: "waiting", sign: "■", title: "Stopped" },
  ended: { kind: "waiting", sign: "■", title: "Ended" },
};

function said(frame) {
  return [stage(frame), ...limits(frame)].filter(Boolean).join(" ");
}

// limits is what budgets of endpoints make of a run, and guards.
function limits(frame) {
  if (["stopped", "ended"].includes(frame.phase)) return [];
  const part = frame.factor && `It sends ${share(frame.factor)} of its plan's rates: the changes say why.`;
  return [frame.no_right && "It sends nothing: it waits for room at its endpoint.", part];
}

function stage(frame) {
  if (frame.frozen) return "Its endpoint is frozen: nothing is sent there until somebody thaws it. Endpoints says why.";
  if (frame.phase === "waiting") return frame.min_workers ? `It begins when ${frame.min_workers} workers have joined; ${frame.members} are here.` : "It begins with loadctl start.";
  if (frame.phase === "paused") return "Nothing is sent until it is resumed.";
  return ["stopped", "ended"].includes(frame.phase) ? "The last figures of the workers are on their way." : "";
}

function summaryOf(frame) {
  const all = thresholds(frame);
  if (!all.length) return "No thresholds were set.";
  const of = (result) => all.filter((c) => c.result === result).length;
  const so = frame.settled ? "" : " so far";
  if (of("passed") === all.length) return all.length === 1 ? `The threshold holds${so}.` : `All ${all.length} thresholds hold${so}.`;
  const parts = [[of("failed"), "failed"], [of("undecided"), of("undecided") === 1 ? "is undecided" : "are undecided"]].filter(([n]) => n);
  const bad = all.filter((c) => c.result === "failed").map((c) => c.name);
  return `Of ${all.length === 1 ? "1 threshold" : all.length + " thresholds"} ${parts.map(([n, word]) => `${n} ${word}`).join(" and ")}${so}${bad.length ? ": " + bad.slice(0, 3).join(", ") + (bad.length > 3 ? ", …" : "") : ""}.`;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
