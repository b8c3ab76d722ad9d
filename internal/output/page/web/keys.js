/* steering lets the keyboard move the cursor of a chart, as that of a slider. It returns held(), the place that the keyboard holds, and
   hold(place), which goes there again after the data has changed. */
export function steering(c, tell) {
  const { steer } = c;
  let x = null; // where the keyboard has put the cursor
  steer.tabIndex = 0;
  steer.setAttribute("role", "slider");
  steer.setAttribute("aria-valuemin", 0);
  const describe = () => {
    steer.setAttribute("aria-label", c.o.label + ". Arrow keys move through the points.");
    steer.setAttribute("aria-valuemax", Math.max(0, c.o.x.length - 1));
  };
  describe();
  tell(null);
  const show = (i) => {
    x = i === null ? null : c.o.x[i];
    const left = i === null ? -10 : c.u.valToPos(x, "x");
    c.u.setCursor({ left, top: i === null ? -10 : 10 }, true, true);
  };
  steer.addEventListener("keydown", (e) => {
    const to = target(e, c.u.cursor.idx, c.o.x.length - 1);
    if (to === undefined || e.ctrlKey || e.altKey || e.metaKey) return;
    e.preventDefault();
    show(to);
  });
  steer.addEventListener("blur", () => show(null));
  return {
    held: () => x,
    hold: (place) => {
      describe();
      if (place !== null) show(nearest(c.o.x, place));
      else if (c.u.cursor.left >= 0) tell(c.u.cursor.idx);
    },
  };
}

// target is the point to which a key goes from point i; undefined = the key means nothing.
function target(e, i, last) {
  const far = e.shiftKey ? 10 : 1;
  if (last < 0) return undefined;
  return {
    ArrowRight: Math.min(last, (i ?? -1) + far), ArrowUp: Math.min(last, (i ?? -1) + far),
    ArrowLeft: Math.max(0, (i ?? 1) - far), ArrowDown: Math.max(0, (i ?? 1) - far),
    PageUp: Math.min(last, (i ?? 0) + 10), PageDown: Math.max(0, (i ?? 0) - 10),
    Home: 0, End: last, Escape: null,
  }[e.key];
}

// nearest is the index of the value that is nearest to v.
function nearest(all, v) {
  let best = 0;
  all.forEach((x, i) => {
    if (Math.abs(x - v) < Math.abs(all[best] - v)) best = i;
  });
  return all.length ? best : null;
}
