import { comparePage } from "./compare.js";
import { element } from "./dom.js";
import { endpointsPage } from "./endpoints.js";
import { parse } from "./route.js";
import { runsPage } from "./runs.js";
import { watched } from "./watched.js";

// The live page: it shows what its address names, and follows it.
const pages = { runs: runsPage, run: watched, archive: watched, compare: comparePage, endpoints: endpointsPage };
const main = document.getElementById("main");
const box = document.getElementById("news");
const announce = document.getElementById("announce");
const shell = {
  // news says what is wrong, above the page.
  news: (text) => {
    if (text === box.textContent) return;
    box.replaceChildren(...(text ? [element("p", "trouble", text)] : []));
  },
  // tell speaks to those who do not see the page.
  tell: (text) => (announce.textContent = text),
};
let page = null;

function go() {
  const route = parse(location.hash);
  for (const a of document.querySelectorAll("#top nav a")) {
    const here = a.dataset.kind === route.kind;
    here ? a.setAttribute("aria-current", "page") : a.removeAttribute("aria-current");
  }
  if (page?.accepts(route)) return page.turn(route);
  const first = !page;
  page?.end();
  shell.news("");
  main.replaceChildren();
  page = pages[route.kind](main, route, shell);
  scrollTo(0, 0);
  if (!first) main.focus();
}

document.documentElement.classList.add("scripted");
document.getElementById("skip").addEventListener("click", (e) => {
  e.preventDefault(); // the address is that of a view
  main.focus();
});
addEventListener("hashchange", go);
go();
