import { element, say } from "./dom.js";

// Parts of views. No text of a run is ever read as HTML.

let last = 0; // number of the newest id

// fresh returns an id that no element has.
export function fresh() {
  return "part-" + ++last;
}

// section is a part of a view with a title, and with a hint if there is one.
export function section(title, kind, hint) {
  const e = element("section", kind);
  const h = element("h2", "", title);
  h.id = fresh();
  e.setAttribute("aria-labelledby", h.id);
  e.append(h);
  if (hint) e.append(element("p", "hint", hint));
  return e;
}

// figure is the place of a chart, in a section: see chart().
export function figure(name, title, hint) {
  const box = section(title, "chart", hint);
  const fig = element("figure");
  fig.dataset.chart = name;
  const details = element("details");
  const table = element("div", "scroll");
  table.tabIndex = 0;
  table.setAttribute("role", "region");
  table.setAttribute("aria-label", title + ", as a table");
  details.append(element("summary", "", "As a table"), table);
  fig.append(element("div", "plot"), details);
  const empty = element("p", "empty");
  empty.hidden = true;
  box.append(empty, fig);
  return { box, fig, empty };
}

// table is an empty table that may be wider than the page. A column that begins with # holds numbers.
export function table(kind, name, columns) {
  const box = element("div", "scroll");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", name);
  const t = element("table", kind);
  t.append(element("caption", "unseen", name));
  const line = t.createTHead().insertRow();
  for (const column of columns) {
    const th = element("th", column.startsWith("#") ? "n" : "", column.replace(/^#/, ""));
    th.scope = "col";
    line.append(th);
  }
  box.append(t);
  return { box, body: t.createTBody() };
}

/* rows makes a table body show items. A row belongs to a key, and stays the same element as long as its key is there: so the focus stays.
   make(row, item) fills a new row and returns update(item). */
export function rows(body, key, make) {
  const known = new Map();
  return (items) => {
    const now = new Set();
    const held = body.contains(document.activeElement) ? document.activeElement : null;
    items.forEach((item, i) => {
      const k = key(item);
      now.add(k);
      if (!known.has(k)) {
        const line = element("tr");
        known.set(k, { line, update: make(line, item) });
      }
      const { line, update } = known.get(k);
      update(item);
      if (body.rows[i] !== line) body.insertBefore(line, body.rows[i] ?? null);
    });
    for (const [k, { line }] of known) {
      if (now.has(k)) continue;
      line.remove();
      known.delete(k);
    }
    if (held?.isConnected && held !== document.activeElement) held.focus({ preventScroll: true }); // a row that moves loses it
  };
}

// cells adds cells to a row, the first one as its head; a kind of "n" is for numbers. It returns set(texts).
export function cells(line, kinds) {
  const all = kinds.map((kind, i) => {
    const e = element(i ? "td" : "th", kind);
    if (!i) e.scope = "row";
    return e;
  });
  line.append(...all);
  return (texts) => texts.forEach((text, i) => text !== undefined && say(all[i], text));
}

// signs stand before results.
export const signs = { passed: "✓", failed: "✕", undecided: "?", invalid: "!" };

// button is a plain button.
export function button(text, kind, press) {
  const b = element("button", kind, text);
  b.type = "button";
  b.addEventListener("click", press);
  return b;
}

// field is an input with its name, for a text of at most some characters.
export function field(label, placeholder, name, most = 40) {
  const box = element("label", "field");
  const input = element("input");
  input.name = name;
  input.placeholder = placeholder;
  input.autocomplete = "off";
  input.spellcheck = false;
  input.maxLength = most;
  box.append(element("span", "", label), input);
  return { box, input };
}
