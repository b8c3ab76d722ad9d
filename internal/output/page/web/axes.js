import { clock, tick } from "./format.js";
import { colour, rem } from "./theme.js";

// Axes for uPlot. Sizes are in units of the page's font, so that they grow with it.

function axis(options) {
  return {
    stroke: colour("--soft"),
    font: `${Math.round(0.75 * rem())}px ${getComputedStyle(document.body).fontFamily}`,
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { show: false },
    gap: 0.4 * rem(),
    ...options,
  };
}

// steps are the distances between labels on an axis of time, s.
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 2592000, 31536000];

// timeAxis is that of seconds since the start.
export function timeAxis() {
  return axis({ incrs: steps, space: 5 * rem(), size: 1.9 * rem(), values: (u, all) => all.map(clock), grid: { show: false } });
}

// valueAxis is one of plain numbers.
export function valueAxis(format) {
  return axis({ size: 4 * rem(), space: 2.6 * rem(), values: (u, all) => all.map(format) });
}

// fromZero is the range of plain numbers.
export function fromZero(u, min, max) {
  return [0, max > 0 ? max * 1.06 : 1];
}

// aroundValues is the range of values of any sign: it has 0 in it.
export function aroundValues(u, min, max) {
  const low = Math.min(0, min ?? 0);
  const high = Math.max(0, max ?? 0);
  const room = (high - low || 1) * 0.06;
  return [low < 0 ? low - room : 0, high > 0 || low === 0 ? high + room : 0];
}

// rungs are the numbers m·10^k between two values, for every m.
function rungs(min, max, mantissas) {
  const all = [];
  for (let k = Math.floor(Math.log10(min)); k <= Math.ceil(Math.log10(max)); k++) {
    for (const m of mantissas) {
      const v = Number(`${m}e${k}`);
      if (v >= min * 0.999 && v <= max * 1.001) all.push(v);
    }
  }
  return all;
}

// logRange widens a range to round numbers, and to a factor of 2 at least.
export function logRange(u, min, max) {
  if (!(min > 0) || !(max > 0)) return [1e6, 1e8];
  const all = rungs(min / 20, max * 20, [1, 1.5, 2, 3, 5, 7]);
  const low = all.filter((v) => v <= min * 0.97).pop();
  const high = all.find((v) => v >= max * 1.03 && v >= 2 * low);
  return [low, high];
}

// logSplits are the labels of a logarithmic axis: as many as have room for their height.
function logSplits(u, i, min, max) {
  const room = u.bbox.height / devicePixelRatio / (2 * rem());
  const choices = [[1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], [1, 1.5, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]].map((m) => rungs(min, max, m));
  return choices.find((c) => c.length <= room) ?? choices.at(-1);
}

// latencyAxis is a logarithmic one of nanoseconds.
export function latencyAxis() {
  return axis({ size: 4 * rem(), splits: logSplits, filter: (u, all) => all, values: (u, all) => all.map(tick) });
}

// oneInAxis is that of percentiles: at 100 of it is p99, which one request in 100 exceeds.
export function oneInAxis() {
  const name = (n) => (n === 1 ? "min" : n === 2 ? "p50" : "p" + String(Number((100 - 100 / n).toPrecision(12))));
  return axis({
    size: 1.9 * rem(),
    splits: (u, i, min, max) => [1, 2, ...rungs(10, max, [1])],
    filter: (u, all) => {
      let free = -Infinity;
      return all.map((v) => {
        const at = u.valToPos(v, "x");
        if (at < free) return null;
        free = at + (1.2 + 0.55 * name(v).length) * rem();
        return v;
      });
    },
    values: (u, all) => all.map((v) => (v === null ? "" : name(v))),
  });
}
