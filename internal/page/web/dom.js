// element makes an element with a class and a text, which is never read as HTML.
export function element(name, kind, text) {
  const e = document.createElement(name);
  if (kind) e.className = kind;
  if (text !== undefined) e.textContent = text;
  return e;
}

// behind fills the table of a chart when it is opened: columns is a list of names, rows is a function that returns lists of texts.
export function behind(details, caption, columns, rows) {
  details.addEventListener("toggle", () => {
    const box = details.querySelector(".scroll");
    if (!details.open || box.firstChild) return;
    const table = element("table");
    table.append(element("caption", "unseen", caption));
    const head = table.createTHead().insertRow();
    for (const name of columns) {
      const cell = element("th", "", name);
      cell.scope = "col";
      head.append(cell);
    }
    const body = table.createTBody();
    for (const row of rows()) {
      const line = body.insertRow();
      row.forEach((text, i) => {
        const cell = element(i ? "td" : "th", "", text);
        if (!i) cell.scope = "row";
        line.append(cell);
      });
    }
    box.append(table);
  });
}
