import { element } from "./dom.js";
import { clock, count } from "./format.js";
import { colour, rem } from "./theme.js";

// drawMarks returns a hook for uPlot: a line for each mark, and with flags also the numbers. Flags that have no room become one.
export function drawMarks(marks, flags) {
  return (u) => {
    const c = u.ctx, px = devicePixelRatio, size = 0.72 * rem() * px;
    const { left, top, width, height } = u.bbox;
    c.save();
    c.font = `600 ${size}px ${getComputedStyle(document.body).fontFamily}`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.lineWidth = px;
    const groups = [];
    for (const m of marks) {
      const x = Math.round(u.valToPos(m.t, "x", true)) + 0.5;
      if (x < left - 1 || x > left + width + 1) continue;
      c.strokeStyle = colour("--" + m.tone);
      c.setLineDash([3 * px, 3 * px]);
      c.beginPath();
      c.moveTo(x, top);
      c.lineTo(x, top + height);
      c.stroke();
      const near = groups.at(-1);
      if (near && x - near.x < 2.2 * size) {
        near.last = m.n;
        if (m.tone === "fault") near.tone = m.tone;
      } else {
        groups.push({ x, first: m.n, last: m.n, tone: m.tone });
      }
    }
    c.setLineDash([]);
    for (const g of flags ? groups : []) {
      const text = g.first === g.last ? String(g.first) : `${g.first}–${g.last}`;
      const wide = Math.max(c.measureText(text).width + 0.7 * size, 1.5 * size), high = 1.5 * size;
      const x = Math.min(Math.max(g.x - wide / 2, left), left + width - wide), y = top - high;
      c.fillStyle = colour("--" + g.tone);
      c.beginPath();
      c.roundRect(x, y, wide, high, 3 * px);
      c.fill();
      c.fillStyle = colour("--ground");
      c.fillText(text, x + wide / 2, y + high / 2 + 0.5 * px);
    }
    c.restore();
  };
}

// listMarks tells what the numbers are, below a chart; the table of changes has all.
export function listMarks(marks, list) {
  const shown = 8;
  const lines = marks.slice(0, shown).map((m) => {
    const line = element("li");
    line.append(element("span", "flag " + m.tone, String(m.n)), element("span", "when", clock(m.t)), element("span", "", m.text));
    return line;
  });
  if (marks.length > shown) lines.push(element("li", "more", `and ${count(marks.length - shown)} more, see Changes`));
  list.replaceChildren(...lines);
}
