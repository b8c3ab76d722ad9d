package show

import (
	"bytes"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/report/units"
)

// inFull writes all that is known of a sample. Texts of others are indented, so that none looks like a line of ours.
func inFull(b *bytes.Buffer, s *samples.Sample) {
	printable.Fprintf(b, "request     %d of worker %s", s.Ordinal, s.Worker)
	for _, of := range [][2]string{{"flow", s.Flow}, {"step", s.Step}} {
		if of[1] != "" {
			printable.Fprintf(b, ", %s %s", of[0], of[1])
		}
	}
	printable.Fprintf(b, "; kept as %s\n", strings.Join(s.Why, ", "))
	outcome := "ok"
	if s.Class != "" {
		outcome = "failed, class " + s.Class
	}
	printable.Fprintf(b, "result      %s", outcome)
	if s.Status != "" {
		printable.Fprintf(b, ", status %s", s.Status)
	}
	if s.Error != "" {
		printable.Fprintf(b, ": %s", s.Error)
	}
	b.WriteByte('\n')
	if s.URL != "" {
		printable.Fprintf(b, "url         %s\n", s.URL)
	}
	if s.TraceID != "" {
		printable.Fprintf(b, "trace       %s", s.TraceID)
		if !s.Traced {
			b.WriteString(" (the endpoint was not asked to record it: see --trace-sampled)")
		}
		b.WriteByte('\n')
	}
	times(b, s)
	connection(b, s.Connection)
	for i, c := range s.Checks {
		label, sign := "", "✗"
		if i == 0 {
			label = "checks"
		}
		if c.Passed {
			sign = "✓"
		}
		printable.Fprintf(b, "%-12s%s %s", label, sign, c.Check)
		if c.Got != "" {
			printable.Fprintf(b, ": %s", c.Got)
		}
		b.WriteByte('\n')
	}
	if !s.Whole() {
		b.WriteString("            (only its times were kept)\n")
		return
	}
	message(b, "sent", s.BytesOut, s.Request)
	message(b, "came", s.BytesIn, s.Response)
}

// times writes when the request was due, and how long each of its phases took.
func times(b *bytes.Buffer, s *samples.Sample) {
	printable.Fprintf(b, "due         %s\n", s.Due.UTC().Format(time.RFC3339Nano))
	printable.Fprintf(b, "latency     %s = lag %s + service %s\n", units.Duration(s.Latency), units.Duration(s.Lag), units.Duration(s.Service))
	if s.FirstByte != 0 {
		printable.Fprintf(b, "service     %s = first byte %s + rest %s\n", units.Duration(s.Service), units.Duration(s.FirstByte), units.Duration(max(0, s.Service-s.FirstByte)))
	}
}

// connection writes which connection carried the request.
func connection(b *bytes.Buffer, c samples.Connection) {
	if c == (samples.Connection{}) {
		return
	}
	state := "opened for it"
	if c.Reused {
		state = "reused"
	}
	printable.Fprintf(b, "connection  %d, %s", c.Number, state)
	if c.Connect > 0 {
		printable.Fprintf(b, " (connect %s", units.Duration(c.Connect))
		if c.TLS > 0 {
			printable.Fprintf(b, ", TLS %s", units.Duration(c.TLS))
		}
		b.WriteByte(')')
	}
	if c.Age > 0 {
		printable.Fprintf(b, ", open for %s", units.Duration(c.Age))
	}
	if c.Remote != "" {
		printable.Fprintf(b, ", to %s", c.Remote)
	}
	b.WriteByte('\n')
}

// message writes one direction: how many bytes, the head, and the beginning of the body.
func message(b *bytes.Buffer, label string, n int64, m *samples.Message) {
	printable.Fprintf(b, "%-12s%s\n", label, units.Bytes(n))
	if m == nil {
		return
	}
	if m.Start != "" {
		printable.Fprintf(b, "    %s\n", m.Start)
	}
	for _, h := range m.Headers {
		printable.Fprintf(b, "    %s: %s\n", h.Name, h.Value)
	}
	if m.Body != "" && (m.Start != "" || len(m.Headers) > 0) {
		b.WriteString("\n")
	}
	for _, line := range lines(m) {
		printable.Fprintf(b, "    %s\n", line)
	}
	notes := remarks(m)
	if m.Hex {
		notes = append(notes, "the body is no text: hexadecimal digits")
	}
	if len(notes) > 0 {
		printable.Fprintf(b, "            (%s)\n", strings.Join(notes, "; "))
	}
}

// lines returns the body as lines.
func lines(m *samples.Message) []string {
	if m.Body == "" {
		return nil
	}
	if !m.Hex {
		return strings.Split(strings.TrimSuffix(strings.ReplaceAll(m.Body, "\r\n", "\n"), "\n"), "\n")
	}
	const digits = 64 // of a line
	var all []string
	for body := m.Body; body != ""; {
		n := min(digits, len(body))
		all, body = append(all, body[:n]), body[n:]
	}
	return all
}

// remarks says in what a message is not shown as it was.
func remarks(m *samples.Message) (notes []string) {
	if m.Cut {
		notes = append(notes, "the body is cut: it had "+units.Bytes(m.Length))
	}
	if m.Secrets {
		notes = append(notes, "what may be a secret is redacted")
	}
	return notes
}
