import { element, say } from "./dom.js";
import { clock, count, rate } from "./format.js";
import { cells, rows, section, table } from "./parts.js";
import { poll } from "./poll.js";
import { link } from "./route.js";

// runsPage lists the runs and the archives.
export function runsPage(root, route, shell) {
  document.title = "Runs · loadctl";
  const head = element("header");
  head.append(element("h1", "", "Runs"));
  const list = section("In Redis", "", "The newest first. Rate and asked count flows, if the workload has flows.");
  const none = element("p", "empty", "There are no runs. Create one with loadctl create, or begin with loadctl run.");
  const t = table("counts", "Runs", ["run", "phase", "#rate", "#workers", "#asked", "target", "created"]);
  list.append(none, t.box);
  const saved = section("Archives", "", "Files that were named on the command line.");
  const a = table("counts", "Archives", ["archive", "run", "started", "#duration"]);
  saved.append(a.box);
  saved.hidden = true;
  t.box.hidden = true;
  none.hidden = true;
  root.append(head, list, saved);
  const fillRuns = rows(t.body, (r) => r.run, runRow);
  const fillArchives = rows(a.body, (r) => r.name, archiveRow);
  const show = (all) => {
    fillRuns([...all.runs].reverse());
    none.hidden = all.runs.length > 0 || Boolean(all.error);
    t.box.hidden = !all.runs.length;
    fillArchives(all.archives ?? []);
    saved.hidden = !all.archives?.length;
    shell.news(all.error ? "The runs cannot be read: " + all.error : "");
  };
  return { accepts: (r) => r.kind === "runs", turn: () => {}, end: poll("/api/v1/runs", show, shell.news).end };
}

// linked adds the first cell of a row: a link; without an address the text alone.
export function linked(line, text, href) {
  const th = element("th");
  th.scope = "row";
  const a = element(href ? "a" : "span", "", text);
  if (href) a.href = href;
  th.append(a);
  line.append(th);
}

function runRow(line, r) {
  linked(line, r.run, link("run", r.run));
  const phase = element("td");
  const pill = element("span", "phase");
  phase.append(pill);
  line.append(phase);
  const set = more(line, ["n", "n", "n", "", "when"]);
  return (now) => {
    say(pill, now.phase);
    pill.className = "phase " + now.phase;
    set([now.concurrency ? `c=${count(now.concurrency)}` : now.closed_loop ? "max" : rate(now.rate) + "/s", count(now.members), now.closed_loop ? "–" : count(now.asked), [now.method, now.url].filter(Boolean).join(" ") || "–", when(now.created_at)]);
  };
}

function archiveRow(line, r) {
  linked(line, r.name, link("archive", r.name));
  const set = more(line, ["", "when", "n"]);
  return (now) => set([now.run, when(now.started_at), clock(Math.round(now.duration_s))]);
}

// more adds cells to a row that has its head.
export function more(line, kinds) {
  const hidden = element("tr");
  const set = cells(hidden, ["", ...kinds]);
  line.append(...[...hidden.children].slice(1));
  return (texts) => set([undefined, ...texts]);
}

// when is a time in UTC.
export function when(text) {
  return text && !text.startsWith("0001") ? text.slice(0, 19).replace("T", " ") + " UTC" : "–";
}
