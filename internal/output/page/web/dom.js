// element makes an element with a class and a text, which is never read as HTML.
export function element(name, kind, text) {
  const e = document.createElement(name);
  if (kind) e.className = kind;
  if (text !== undefined) e.textContent = text;
  return e;
}

// say sets the text of an element, if it is another one: an unchanged text keeps its selection, and nothing is laid out.
export function say(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// behind is the table of a chart. It is filled when details is opened, and kept current by the function that it returns while it is open.
// table() returns caption, columns (names) and rows (a function that returns lists of texts).
export function behind(details, table) {
  const refresh = () => details.open && fill(details.querySelector(".scroll"), table());
  details.addEventListener("toggle", refresh);
  return refresh;
}

// fill makes a box hold a table, and reuses the cells that are there.
function fill(box, { caption, columns, rows }) {
  const head = columns.join("\n");
  if (box.dataset.columns !== head) {
    box.dataset.columns = head;
    box.replaceChildren(headed(caption, columns));
  }
  const body = box.firstChild.tBodies[0];
  const all = rows();
  while (body.rows.length > all.length) body.deleteRow(-1);
  all.forEach((row, i) => {
    const line = body.rows[i] ?? body.insertRow();
    row.forEach((text, k) => say(line.cells[k] ?? cell(line, k), text));
  });
}

// headed is a table without rows.
function headed(caption, columns) {
  const table = element("table");
  table.append(element("caption", "unseen", caption));
  const line = table.createTHead().insertRow();
  for (const name of columns) {
    const e = element("th", "", name);
    e.scope = "col";
    line.append(e);
  }
  table.createTBody();
  return table;
}

// cell adds cell k of a row, of which the first is its head.
function cell(line, k) {
  const e = element(k ? "td" : "th");
  if (!k) e.scope = "row";
  line.append(e);
  return e;
}
