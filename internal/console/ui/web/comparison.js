import { element } from "./dom.js";
import { duration, rate, share } from "./format.js";
import { byPercentile } from "./lines.js";
import { cells, figure, section, table } from "./parts.js";

/* comparison shows what loadctl compare found: c is its JSON, with a curve for each side. It returns end(). */
export function comparison(root, c, chart) {
  const [base, other] = c.sides;
  const { figures, notes } = c.results[0];
  const box = section("Figures", "", `${other.name} compared with ${base.name}. With 95 % confidence, all intervals are right at the same time.`);
  const t = table("counts compared", "Figures", ["figure", "#base", "#other", "#difference", "#from", "#to", "meaning"]);
  for (const row of figures) {
    const line = t.body.insertRow();
    line.className = meaning(row)[0];
    cells(line, ["", "n", "n", "n", "n", "n", ""])([row.figure, number(row, row.base), number(row, row.other), change(row, row.difference), change(row, row.interval?.low),
      change(row, row.interval?.high), meaning(row)[1]]);
  }
  box.append(t.box);
  const said = [...(c.warnings ?? []), ...(notes ?? [])];
  const know = section("Notes", said.length ? "" : "none");
  const list = element("ul", "lines");
  list.append(...said.map((text) => element("li", "", text)));
  know.append(said.length ? list : element("p", "lead", "The two can be compared."));
  root.append(box, know);
  const drawn = curves(root, c.curves ?? [], chart);
  return { end: () => drawn?.end() };
}

const tones = ["--service", "--latency"];

// curves draws the latencies of both sides over each other.
function curves(root, all, chart) {
  if (!all.length) return null;
  const f = figure("percentiles", "Latency by percentile", "At p99, 1 request in 100 is slower.");
  root.append(f.box);
  const oneIn = [...new Set(all.flatMap((c) => c.one_in))].sort((a, b) => a - b);
  const lines = all.map((c, i) => [all.some((d, k) => k !== i && d.name === c.name) ? `${c.name} (${["base", "other"][i]})` : c.name, aligned(c, oneIn), tones[i]]).reverse();
  return chart(f.fig, byPercentile(oneIn, lines));
}

// aligned are the latencies of a curve at the points of both. Between two points of its own it is not known: the line goes on.
function aligned(c, oneIn) {
  const known = new Map(c.one_in.map((n, i) => [n, c.latency[i]]));
  return oneIn.map((n) => (known.has(n) ? known.get(n) : undefined));
}

// number is a value; that of a side may be absent.
function number({ unit }, v) {
  return v === undefined ? "–" : unit === "ns" ? (v ? duration(v) : "–") : unit === "share" ? share(v) : rate(v) + "/s";
}

// change is a difference: relative, or of shares in points.
function change({ unit }, v) {
  if (v === undefined || v === null) return "–";
  const text = Math.abs(v) > 9.995 ? "×" + (1 + v).toPrecision(3) : (100 * v).toFixed(unit === "share" ? 2 : 1) + (unit === "share" ? " points" : " %");
  return v > 0 && !text.startsWith("×") ? "+" + text : text.replace("-", "−");
}

// meaning is whether a figure differs.
function meaning({ interval, why, unit, figure: name }) {
  if (!interval) return ["", why ?? ""];
  if (interval.low <= 0 && interval.high >= 0) return ["", "no difference was found"];
  const less = interval.high < 0;
  const better = unit === "ns" || (unit === "share" && name !== "goodput:rate") ? less : !less;
  return [better ? "better" : "worse", unit === "ns" ? (less ? "faster" : "slower") : less ? "lower" : "higher"];
}
