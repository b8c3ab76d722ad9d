package render

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report"
)

// samplesOf says how many samples there are, and which command shows them. No samples: no text.
func samplesOf(r report.Report) (text, command string) {
	failed, class := 0, ""
	for _, s := range r.Samples {
		switch {
		case s.Class == "":
			continue
		case failed == 0:
			class = s.Class
		case class != s.Class:
			class = ""
		}
		failed++
	}
	which := ""
	switch {
	case len(r.Samples) == 0:
		return "", ""
	case failed == 0:
		text, which = fmt.Sprintf("%d of %d requests", len(r.Samples), max(int64(len(r.Samples)), r.Audit.Completed+r.Audit.Failed)), " --slowest"
	default:
		text = fmt.Sprintf("%d of %d failed requests", failed, max(int64(failed), r.Audit.Failed))
	}
	if class != "" {
		which = " --class " + report.Quoted(class)
	}
	in := []string{r.Run}
	if r.SamplesIn != nil {
		in = nil
	}
	for _, name := range r.SamplesIn {
		in = append(in, report.Quoted(name))
	}
	if len(in) == 0 {
		return text + ", kept with --out FILE.loadctl", "loadctl samples FILE.loadctl" + which
	}
	return text, "loadctl samples " + strings.Join(in, " ") + which
}

// textSamples writes which command shows some of the requests.
func textSamples(b *bytes.Buffer, r report.Report) {
	if text, command := samplesOf(r); text != "" {
		printable.Fprintf(b, "samples     %s: %s\n", text, command)
	}
}

// markdownSamples does the same.
func markdownSamples(b *bytes.Buffer, r report.Report) {
	if text, command := samplesOf(r); text != "" {
		fmt.Fprintf(b, "Samples: %s: %s\n\n", prose(text), code(command))
	}
}
