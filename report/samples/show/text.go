package show

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/report/units"
)

// Text writes a table for people, or each sample in full.
func Text(w io.Writer, s Selection) error {
	var b bytes.Buffer
	if s.Whole {
		for i := range s.Samples {
			if i > 0 {
				b.WriteByte('\n')
			}
			inFull(&b, &s.Samples[i])
		}
	} else if len(s.Samples) > 0 {
		rows(&b, s.Samples)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

// rows writes a row for each sample.
func rows(b *bytes.Buffer, all []samples.Sample) {
	const longest = 100
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ORDINAL\tSTEP\tWORKER\tWHY\tRESULT\tSTATUS\tLAG\tFIRST BYTE\tSERVICE\tLATENCY\tREQUEST")
	for i := range all {
		s := &all[i]
		printable.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Ordinal, dashed(s.Step), s.Worker, strings.Join(s.Why, ","), result(s), dashed(s.Status),
			units.Duration(s.Lag), firstByte(s), units.Duration(s.Service), units.Duration(s.Latency), printable.Clip(begun(s), longest))
	}
	_ = t.Flush() // a buffer takes all
}

// dashed returns a text, or a dash for none.
func dashed(s string) string { return cmp.Or(s, "-") }

// result returns the class of a failure, or ok.
func result(s *samples.Sample) string { return cmp.Or(s.Class, "ok") }

// firstByte returns when the first byte came; a dash = none came, or nobody knows.
func firstByte(s *samples.Sample) string {
	if s.FirstByte == 0 {
		return "-"
	}
	return units.Duration(s.FirstByte)
}

// begun returns the request line without its version, or what comes closest to it.
func begun(s *samples.Sample) string {
	if !s.Whole() {
		return "(only its times were kept)"
	}
	if before, last, ok := cutLast(s.Request.Start); ok && strings.HasPrefix(last, "HTTP/") {
		return before
	}
	return dashed(cmp.Or(s.Request.Start, s.URL))
}

// cutLast cuts off the last word.
func cutLast(s string) (before, last string, ok bool) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
