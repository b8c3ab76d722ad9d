import { Refusal, read } from "./api.js";
import { chart } from "./chart.js";
import { comparison } from "./comparison.js";
import { element } from "./dom.js";
import { button, section } from "./parts.js";
import { compareLink } from "./route.js";

// comparePage compares two runs or archives.
export function comparePage(root, route, shell) {
  document.title = "Compare · loadctl";
  const head = element("header");
  head.append(element("h1", "", "Compare"));
  const choice = section("What is compared", "choice", "How the other differs from the base.");
  const result = element("div", "result");
  root.append(head, choice, result);
  const s = { over: false, shown: null };
  fillChoice(choice, route).catch((e) => s.over || shell.news(e.message));
  if (route.base && route.other) show(route, result, s, shell);
  return {
    accepts: () => false,
    turn: () => {},
    end: () => {
      s.over = true;
      s.shown?.end();
    },
  };
}

// fillChoice offers all runs and archives.
async function fillChoice(box, route) {
  const all = await read("/api/v1/runs");
  const names = [...[...all.runs].reverse().map((r) => ["run:" + r.run, `${r.run} (${r.phase})`]), ...(all.archives ?? []).map((a) => ["archive:" + a.name, `${a.name} (archive)`])];
  const form = element("form", "pick");
  const [base, other] = [pick("base", names, route.base), pick("other", names, route.other)];
  const go = element("button", "strong", "Compare");
  go.type = "submit";
  form.append(base.box, other.box, go);
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    location.hash = compareLink(base.select.value, other.select.value);
  });
  box.append(form);
}

// pick is a choice of one side.
function pick(label, names, chosen) {
  const box = element("label", "field");
  const select = element("select");
  for (const [value, text] of names) {
    const option = element("option", "", text);
    option.value = value;
    option.selected = value === chosen;
    select.append(option);
  }
  box.append(element("span", "", label), select);
  return { box, select };
}

// show asks for the comparison. A refusal says why, and offers to compare anyway.
async function show(route, box, s, shell) {
  box.append(element("p", "empty", "Comparing …"));
  const query = new URLSearchParams({ base: route.base, other: route.other, ...(route.force ? { force: "1" } : {}) });
  try {
    const c = await read("/api/v1/compare?" + query);
    if (s.over) return;
    box.replaceChildren();
    s.shown = comparison(box, c, chart);
    shell.tell("The comparison is here.");
  } catch (e) {
    if (s.over) return;
    if (!(e instanceof Refusal)) throw e;
    const why = section("They cannot be compared", "refusal");
    why.append(element("p", "refused", e.message.replace(/; add force=1.*$/, ".")));
    if (e.status === 409) why.append(button("Compare anyway", "plain", () => (location.hash = compareLink(route.base, route.other, true))));
    box.replaceChildren(why);
    shell.tell(why.textContent);
  }
}
