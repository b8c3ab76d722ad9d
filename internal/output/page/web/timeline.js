import { clock } from "./format.js";

/* timeline is the horizontal axis of the charts over time of a report: the middle of each point, its span in words, the end of the axis,
   and perSecond, which makes a count of each point a rate. */
export function timeline(report) {
  const series = report.series;
  const width = report.series_width_s;
  const last = series.at(-1);
  // The last point may cover less than its width. Where that is little, and nothing failed in it, it is not drawn: it would look like a fall.
  const covered = last && report.duration_s > last.t ? Math.min(width, report.duration_s - last.t) : width;
  const sliver = series.length > 1 && covered < width / 4 && !last.failed;
  const end = sliver || !last ? report.duration_s : Math.max(report.duration_s, last.t + width / 2);
  return {
    middle: series.map((s) => s.t + width / 2),
    times: series.map((s) => `${clock(s.t)} to ${clock(s.t + width)}`),
    end,
    scale: () => ({ time: false, range: () => [0, end] }),
    perSecond: (counts) => counts.map((n, i) => {
      if (i < series.length - 1) return n / width;
      return sliver ? null : n / (covered < width / 4 ? width : covered);
    }),
  };
}
