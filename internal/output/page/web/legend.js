import { element } from "./dom.js";

// words are the values of a chart at point i.
export function words(c, i) {
  const { o, hidden } = c;
  if (!(i in o.x)) return "no point chosen";
  if (o.told) return `${o.at(i)}: ${o.told(i)}`;
  const all = o.series.filter((s) => !hidden.has(s.name)).map((s) => `${s.name} ${valueAt(o, s, i)}`);
  return `${o.at(i)}: ${all.join(", ")}`;
}

function valueAt(o, s, i) {
  const v = s.values[i];
  return v === null || v === undefined ? "–" : o.value(v);
}

// legendOf makes the line above a chart: a switch for each series, with its value under the cursor.
export function legendOf(c, toggled) {
  const box = element("div", "legend");
  const place = element("span", "place");
  const told = element("span", "told");
  if (c.o.extra) box.append(c.o.extra);
  const switches = c.o.series.map((s, i) => ({ i, s })).filter(({ s }) => s.name).map(({ s, i }) => ({ i, ...switchOf(s.name, c.hidden, toggled) }));
  box.append(...switches.map((s) => s.button), told, place);
  return {
    box,
    paint: (u) => switches.forEach((s) => (s.mark.style.backgroundColor = u.series[s.i + 1].stroke(u, s.i + 1))),
    show: (i) => {
      const { o } = c;
      const none = !(i in o.x);
      place.textContent = none ? "" : o.at(i);
      told.textContent = none || !o.told ? "" : o.told(i);
      for (const s of switches) s.value.textContent = none ? "" : valueAt(o, o.series[s.i], i);
    },
  };
}

// switchOf shows and hides one series.
function switchOf(name, hidden, toggled) {
  const button = element("button", "series");
  button.type = "button";
  const pressed = () => button.setAttribute("aria-pressed", String(!hidden.has(name)));
  pressed();
  const mark = element("span", "swatch");
  const value = element("span", "value");
  button.append(mark, element("span", "", name), value);
  button.addEventListener("click", () => {
    toggled(name);
    pressed();
  });
  return { button, mark, value };
}
