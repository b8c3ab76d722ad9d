import { archivePath, read } from "./api.js";
import { element, say } from "./dom.js";
import { fleetView } from "./fleet.js";
import { labelsView } from "./labels.js";
import { compareLink, link } from "./route.js";
import { runView } from "./run.js";
import { follow } from "./stream.js";

const views = { run: ["Run", runView], labels: ["Labels", labelsView], fleet: ["Fleet", fleetView] };

/* watched is the page of a run or an archive, with its views. The stream goes on when the view changes. shell.news(text) shows a banner,
   shell.tell(text) speaks. */
export function watched(root, route, shell) {
  const head = heading(route);
  const body = element("div", "view");
  root.append(head.box, body);
  const s = { view: null, frame: null, phase: "" };
  const show = (frame) => {
    if (route.kind === "archive") frame.archived = true;
    s.frame = frame;
    document.title = `${frame.phase} · ${route.name} · loadctl`;
    if (s.phase && s.phase !== frame.phase) shell.tell(`${route.name} is now ${frame.phase}.`);
    s.phase = frame.phase;
    head.show(frame);
    s.view.show(frame);
  };
  const turn = (next) => {
    s.view?.end();
    body.replaceChildren();
    body.className = "view";
    s.view = views[next.view][1](body, route.name, shell.tell);
    head.turn(next.view);
    if (s.frame) s.view.show(s.frame);
  };
  turn(route);
  document.title = `${route.name} · loadctl`;
  const end = route.kind === "run" ? follow(route.name, show, shell.news) : once(archivePath(route.name), show, shell.news);
  return {
    accepts: (r) => r.kind === route.kind && r.name === route.name,
    turn,
    end: () => {
      end();
      s.view.end();
    },
  };
}

// once shows what does not change.
function once(path, show, news) {
  let over = false;
  read(path).then((frame) => over || show(frame), (e) => over || news(e.message));
  return () => (over = true);
}

// heading is the name of a run, and the links to its views.
function heading(route) {
  const box = element("header", "run");
  const name = element("div", "name");
  const phase = element("span", "phase");
  const eyebrow = element("p", "eyebrow", route.kind === "run" ? "Run" : "Archive");
  const target = element("code");
  const line = element("p", "target");
  line.append(target);
  name.append(eyebrow, element("h1", "", route.name), line);
  const nav = element("nav", "tabs");
  nav.setAttribute("aria-label", "Views");
  const tabs = Object.entries(views).map(([view, [text]]) => {
    const a = element("a", "", text);
    a.href = link(route.kind, route.name, view);
    nav.append(a);
    return [view, a];
  });
  const other = element("a", "", "Compare");
  other.href = compareLink("", `${route.kind}:${route.name}`);
  nav.append(other);
  eyebrow.append(" ", phase);
  box.append(name, nav);
  return {
    box,
    turn: (view) => tabs.forEach(([v, a]) => (v === view ? a.setAttribute("aria-current", "page") : a.removeAttribute("aria-current"))),
    show: (frame) => {
      say(phase, frame.phase);
      phase.className = "phase " + frame.phase;
      const d = frame.report.described;
      say(target, [d.method, d.url].filter(Boolean).join(" "));
      line.hidden = !target.textContent;
    },
  };
}
