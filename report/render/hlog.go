package render

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// HLog writes latency over time as an HdrHistogram log, format 1.3: one
// interval histogram for each point of the series, to 2 significant digits.
// Times are seconds since the start of the run; Interval_Max is in
// milliseconds, the values inside the histograms are nanoseconds. Times of
// answers in pieces have tags: readers that ask for none see the latency.
func HLog(w io.Writer, r report.Report) error {
	if r.Histograms == nil {
		return fmt.Errorf("write hlog: %w", report.ErrNoHistograms)
	}
	var b bytes.Buffer
	writeLogHeader(&b, r.StartedAt)
	for _, p := range r.Histograms.Series {
		if err := writeLogInterval(&b, "", p.Index*p.Width, p.Width, p.Latency); err != nil {
			return fmt.Errorf("write hlog: %w", err)
		}
		if p.Streams == nil {
			continue
		}
		for tag, h := range p.Streams.OverTime() {
			if h.Count() == 0 {
				continue
			}
			if err := writeLogInterval(&b, "Tag="+tag+",", p.Index*p.Width, p.Width, h); err != nil {
				return fmt.Errorf("write hlog: %w", err)
			}
		}
	}
	return write(w, "hlog", b.Bytes())
}

// writeLogHeader writes the lines before the intervals. The Go library's writer would round the start down to whole
// seconds. With a base time, readers take the times of intervals as relative to it.
func writeLogHeader(b *bytes.Buffer, start time.Time) {
	seconds := float64(start.UnixMilli()) / 1000
	fmt.Fprintf(b, "#[Histogram log format version 1.3]\n")
	fmt.Fprintf(b, "#[BaseTime: %.3f (seconds since epoch)]\n", seconds)
	fmt.Fprintf(b, "#[StartTime: %.3f (seconds since epoch), %s]\n", seconds, start.UTC().Format(time.RFC3339Nano))
	fmt.Fprintf(b, "%q,%q,%q,%q\n", "StartTimestamp", "Interval_Length", "Interval_Max", "Interval_Compressed_Histogram")
}

// writeLogInterval writes one line: the tag, start and length in seconds, and h.
func writeLogInterval(b *bytes.Buffer, tag string, start, length int64, h *record.Histogram) error {
	// Readers expect a histogram on each line, so an empty one is encoded too.
	encoded, err := h.Storage().EncodeV2()
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "%s%d.000,%d.000,%.3f,%s\n", tag, start, length, float64(h.Max())/msScale, encoded)
	return nil
}
