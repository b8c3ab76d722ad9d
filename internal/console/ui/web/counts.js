import { element } from "./dom.js";
import { count, share } from "./format.js";
import { cells, rows, section, table } from "./parts.js";
import { openButton } from "./samples.js";

const shown = 20;

/* counts is a table of names with their numbers, the most frequent first: errors by class, answers by status. of(report) returns the
   numbers by name. If there is a panel for samples, the names open those that fail with them. */
export function counts(title, name, none, of, panel) {
  const box = section(title);
  const empty = element("p", "lead", none);
  const t = table("counts", title, [name, "#requests", "#share of those that ended"]);
  const fill = rows(t.body, ([n]) => n, (line, [n, , part]) => {
    const set = cells(line, ["", "n", "n"]);
    if (!panel || !part) return (texts) => set(texts);
    line.cells[0].append(panel.opener(openButton(n), () => [`${title}: ${n}`, { class: n }]));
    return ([, number, now]) => set([undefined, number, now]);
  });
  box.append(empty, t.box);
  if (panel) box.append(panel.box);
  return {
    box,
    show: ({ report }) => {
      const all = of(report);
      const ended = report.audit.completed + report.audit.failed;
      const names = Object.keys(all).sort((a, b) => all[b] - all[a]);
      const items = names.slice(0, shown).map((n) => [n, count(all[n]), ended ? share(all[n] / ended) : "–"]);
      if (names.length > shown) items.push([`and ${count(names.length - shown)} more`, count(names.slice(shown).reduce((sum, n) => sum + all[n], 0)), ""]);
      fill(items);
      empty.hidden = items.length > 0;
      t.box.hidden = !items.length;
    },
  };
}
