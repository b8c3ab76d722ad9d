import { element } from "./dom.js";
import { onLook, rem } from "./theme.js";

/* A chart is drawn anew whenever its size or the look of the page changes. Its options:

   label    what it is, for those who do not see it
   x        values of the horizontal axis
   series   for each line: name, values, and what options(series) makes of it for uPlot
   options  returns options for uPlot: scales, axes, series, hooks. It is called for each drawing, since colours change
   at(x)    the place of the cursor, in words
   value(v) a value, in words
   told(i)  optional: what there is at point i, in place of the values of the series
   together optional: charts with the same one have one cursor  */
export function chart(figure, o) {
  const plot = figure.querySelector(".plot");
  const hidden = new Set();
  const legend = legendOf(o, hidden, () => draw());
  plot.before(legend.box);
  const steer = element("div", "steer");
  plot.before(steer);
  steer.append(plot);
  let u = null;

  // tell says what is under the cursor.
  const tell = (i) => {
    legend.show(i);
    steer.setAttribute("aria-valuenow", i ?? 0);
    steer.setAttribute("aria-valuetext", i === null || i === undefined ? "no point chosen" : words(o, hidden, i));
  };
  const draw = () => {
    u?.destroy();
    u = new uPlot(settings(plot, o, hidden, tell), [o.x, ...o.series.map((s) => s.values)], plot);
    legend.paint(u);
  };
  draw();
  keys(steer, o, () => u, tell);

  let size = [plot.clientWidth, plot.clientHeight, rem()].join();
  new ResizeObserver(() => {
    const now = [plot.clientWidth, plot.clientHeight, rem()].join();
    if (now === size) return;
    size = now;
    draw();
  }).observe(plot);
  onLook(draw);
}

// settings are the options for uPlot.
function settings(plot, o, hidden, tell) {
  const own = o.options();
  return {
    width: plot.clientWidth,
    height: plot.clientHeight,
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 0.5 * rem(), width: 1.5 },
      sync: o.together ? { key: o.together, scales: ["x", null], setSeries: false } : undefined,
    },
    padding: [own.top ?? 0.6 * rem(), 1.6 * rem(), 0, 0],
    scales: own.scales,
    axes: own.axes,
    series: [{}, ...o.series.map((s, i) => ({ show: !hidden.has(i), points: { show: (u) => o.x.length < 3 }, ...own.series(s, i) }))],
    hooks: { ...own.hooks, setCursor: [(u) => tell(u.cursor.idx)] },
  };
}

// words are the values at point i.
function words(o, hidden, i) {
  if (o.told) return `${o.at(i)}: ${o.told(i)}`;
  const all = o.series.filter((s, n) => !hidden.has(n)).map((s) => `${s.name} ${valueAt(o, s, i)}`);
  return `${o.at(i)}: ${all.join(", ")}`;
}

function valueAt(o, s, i) {
  const v = s.values[i];
  return v === null || v === undefined ? "–" : o.value(v);
}

// legendOf makes the line above a chart: a switch for each series, with its value under the cursor.
function legendOf(o, hidden, draw) {
  const box = element("div", "legend");
  const place = element("span", "place");
  const told = element("span", "told");
  const switches = o.series.filter((s) => s.name).map((s, i) => {
    const button = element("button", "series");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    const mark = element("span", "swatch");
    const value = element("span", "value");
    button.append(mark, element("span", "", s.name), value);
    button.addEventListener("click", () => {
      if (!hidden.delete(i)) hidden.add(i);
      button.setAttribute("aria-pressed", String(!hidden.has(i)));
      draw();
    });
    return { button, mark, value, s, i };
  });
  box.append(...switches.map((s) => s.button), told, place);
  return {
    box,
    paint: (u) => switches.forEach((s) => (s.mark.style.backgroundColor = u.series[s.i + 1].stroke(u, s.i + 1))),
    show: (i) => {
      const none = i === null || i === undefined;
      place.textContent = none ? "" : o.at(i);
      told.textContent = none || !o.told ? "" : o.told(i);
      for (const s of switches) s.value.textContent = none ? "" : valueAt(o, s.s, i);
    },
  };
}

// keys let the keyboard move the cursor, as that of a slider.
function keys(steer, o, current, tell) {
  steer.tabIndex = 0;
  steer.setAttribute("role", "slider");
  steer.setAttribute("aria-label", o.label + ". Arrow keys move through the points.");
  steer.setAttribute("aria-valuemin", 0);
  steer.setAttribute("aria-valuemax", Math.max(0, o.x.length - 1));
  tell(null);
  const show = (i) => {
    const u = current();
    const left = i === null ? -10 : u.valToPos(o.x[i], "x");
    u.setCursor({ left, top: i === null ? -10 : 10 }, true, true);
  };
  steer.addEventListener("keydown", (e) => {
    const last = o.x.length - 1;
    const i = current().cursor.idx;
    const far = e.shiftKey ? 10 : 1;
    const to = {
      ArrowRight: Math.min(last, (i ?? -1) + far), ArrowUp: Math.min(last, (i ?? -1) + far),
      ArrowLeft: Math.max(0, (i ?? 1) - far), ArrowDown: Math.max(0, (i ?? 1) - far),
      PageUp: Math.min(last, (i ?? 0) + 10), PageDown: Math.max(0, (i ?? 0) - 10),
      Home: 0, End: last, Escape: null,
    }[e.key];
    if (to === undefined || e.ctrlKey || e.altKey || e.metaKey || last < 0) return;
    e.preventDefault();
    show(to);
  });
  steer.addEventListener("blur", () => show(null));
}
