import { behind, element } from "./dom.js";
import { steering } from "./keys.js";
import { legendOf, words } from "./legend.js";
import { onLook, rem } from "./theme.js";

/* chart draws a chart in a figure. It is drawn anew whenever its size or the look of the page changes. The options:

   label    what it is, for those who do not see it
   x        values of the horizontal axis
   series   for each line: name, values, and what options(series) makes of it for uPlot
   options  returns options for uPlot: scales, axes, series, hooks. It is called for each drawing, since colours change
   at(x)    the place of the cursor, in words
   value(v) a value, in words
   told(i)  optional: what there is at point i, in place of the values of the series
   together optional: charts with the same one have one cursor
   table    caption, columns and rows() of the table behind the chart

   It returns set(options), which shows newer data, and end(), after which nothing refers to the figure. The cursor, hidden series, the
   focus and the open table stay as they are.  */
export function chart(figure, o) {
  const plot = figure.querySelector(".plot");
  const steer = element("div", "steer");
  plot.before(steer);
  steer.append(plot);
  const c = { o, own: o.options(), u: null, hidden: new Set(), plot, steer };
  const toggled = (name) => {
    if (!c.hidden.delete(name)) c.hidden.add(name);
    draw();
  };
  let legend = legendOf(c, toggled);
  steer.before(legend.box);
  // tell says what is under the cursor.
  const tell = (i) => {
    legend.show(i);
    steer.setAttribute("aria-valuenow", i ?? 0);
    steer.setAttribute("aria-valuetext", i === null || i === undefined ? "no point chosen" : words(c, i));
  };
  const draw = () => {
    c.u?.destroy();
    c.own = c.o.options();
    c.u = new uPlot(settings(c, tell), data(c.o), plot);
    legend.paint(c.u);
  };
  draw();
  const move = steering(c, tell);
  const table = behind(figure.querySelector("details"), () => c.o.table);
  const forget = onLook(draw);
  const watch = watchSize(plot, draw);
  return {
    set: (next) => {
      const other = shape(next) !== shape(c.o);
      const held = move.held();
      c.o = next;
      c.own = next.options();
      if (other) {
        const old = legend.box;
        legend = legendOf(c, toggled);
        old.replaceWith(legend.box);
        draw();
      } else {
        c.u.setData(data(next));
      }
      queueMicrotask(() => move.hold(held)); // uPlot takes up new data in a microtask
      table();
    },
    end: () => {
      forget();
      watch.disconnect();
      c.u.destroy();
    },
  };
}

// data is what uPlot draws.
const data = (o) => [o.x, ...o.series.map((s) => s.values)];

// shape tells charts apart that need another legend.
const shape = (o) => JSON.stringify(o.series.map((s) => s.name));

// watchSize calls f when the size of the place changes.
function watchSize(plot, f) {
  const sized = () => [plot.clientWidth, plot.clientHeight, rem()].join();
  let size = sized();
  const watch = new ResizeObserver(() => {
    if (sized() === size) return;
    size = sized();
    f();
  });
  watch.observe(plot);
  return watch;
}

// settings are the options for uPlot. What depends on the data is asked of the newest options.
function settings(c, tell) {
  const { o, own, plot } = c;
  const scales = {};
  for (const name of Object.keys(own.scales)) {
    scales[name] = { ...own.scales[name], range: (...all) => c.own.scales[name].range(...all) };
  }
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
    padding: [() => c.own.top ?? 0.6 * rem(), 1.6 * rem(), 0, 0],
    scales,
    axes: own.axes,
    series: [{}, ...o.series.map((s, i) => ({ show: !c.hidden.has(s.name), points: { show: () => c.o.x.length < 3 }, ...own.series(s, i) }))],
    hooks: { draw: [(u) => c.own.hooks.draw?.forEach((f) => f(u))], setCursor: [(u) => tell(u.cursor.idx)] },
  };
}
