/* merged is the newest frame with all that it leaves out, because an earlier one had it: series, events, marks and columns of the heat map
   up to where each begins. The server bounds all of them: at most 1,024 of each. */
const most = 1024;

export function merged(known, next) {
  if (!known) return next;
  next.report.series = joined(known.report.series, next.report.series, next.series_from);
  next.report.events = joined(known.report.events, next.report.events, next.events_from);
  next.marks = joined(known.marks, next.marks, next.marks_from);
  if (next.heat) next.heat.columns = joined(known.heat?.columns, next.heat.columns, next.heat_from);
  return next;
}

function joined(old, young, from) {
  if (!from) return young ?? [];
  return (old ?? []).slice(0, from).concat(young ?? []).slice(-most);
}

// requestsOf is a rate of a frame, which counts flows, in requests per second, as commands take it.
export function requestsOf(frame, flows) {
  return Number((flows * frame.steps_per_flow).toPrecision(12)); // without the error of the product
}
