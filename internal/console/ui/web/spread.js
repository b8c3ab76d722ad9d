const space = "http://www.w3.org/2000/svg";

/* spread is a bar that shows where latencies were, between two values on a logarithmic scale: a thin line from the fastest to the slowest,
   a thick one from p50 to p99, and a mark at p99.9. The numbers stand beside it, so screen readers pass it over. */
export function spread() {
  const svg = shape("svg", { class: "spread", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
  const thin = shape("rect", { class: "thin", y: 4, height: 2 });
  const thick = shape("rect", { class: "thick", y: 1.5, height: 7 });
  const mark = shape("rect", { class: "mark", y: 0, height: 10, width: 0.8 });
  svg.append(thin, thick, mark);
  return {
    svg,
    show: (l, low, high) => {
      const none = !l.max;
      const at = (ns) => (high > low ? (100 * Math.log(Math.max(ns, low) / low)) / Math.log(high / low) : 0);
      const put = (e, from, to) => {
        e.setAttribute("x", none ? 0 : at(from).toFixed(2));
        e.setAttribute("width", none ? 0 : Math.max(0.8, at(to) - at(from)).toFixed(2));
      };
      put(thin, l.min, l.max);
      put(thick, l.p50, l.p99);
      put(mark, l.p999, l.p999);
    },
  };
}

function shape(name, attributes) {
  const e = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
}
