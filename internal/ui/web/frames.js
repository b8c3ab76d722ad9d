/* merged is the newest frame with all of its series and events. A later frame has only those from series_from and events_from on: what is
   known before is kept. The server bounds both: 1,024 points, 1,000 events. */
const most = 1024;

export function merged(known, next) {
  if (!known) return next;
  next.report.series = joined(known.report.series, next.report.series, next.series_from);
  next.report.events = joined(known.report.events, next.report.events, next.events_from);
  return next;
}

function joined(old, young, from) {
  if (!from) return young ?? [];
  return (old ?? []).slice(0, from).concat(young ?? []).slice(-most);
}
