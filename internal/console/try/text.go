package try

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report/units"
)

// The first characters of lines: what we say, what was sent, and what came. Text of others never begins a line.
const (
	ours = "* "
	sent = "> "
	came = "< "
)

// Text writes it for people, as curl -v does.
func (d *Done) Text(w io.Writer) error {
	var b bytes.Buffer
	d.title(&b)
	for i, r := range d.Requests {
		if i > 0 {
			b.WriteByte('\n')
		}
		if r.Step != "" {
			printable.Fprintf(&b, ours+"step %s, %d of %d\n", r.Step, i+1, len(d.Requests)+len(d.NotSent))
		}
		r.text(&b)
	}
	if len(d.NotSent) > 0 {
		printable.Fprintf(&b, "\n"+ours+"not sent: %s\n", strings.Join(d.NotSent, ", "))
	}
	if len(d.Bypassed) > 0 {
		printable.Fprintf(&b, "\n"+ours+"left out by conditions: %s\n", strings.Join(d.Bypassed, ", "))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// title says which slot it is. A single URL without data has only one kind.
func (d *Done) title(b *bytes.Buffer) {
	if d.Flow == "" && len(d.Rows) == 0 && d.Slot == 0 {
		return
	}
	fmt.Fprintf(b, ours+"slot %d", d.Slot)
	if d.Flow != "" {
		printable.Fprintf(b, ", flow %s", d.Flow)
	}
	for _, r := range d.Rows {
		printable.Fprintf(b, ", row %d of %s", r.Row, r.Data)
	}
	b.WriteByte('\n')
}

// text writes one request.
func (r Request) text(b *bytes.Buffer) {
	if r.Rests {
		fmt.Fprintf(b, ours+"nothing is sent: a URL with noop only waits, here %s\n", units.Duration(r.Total))
	}
	for i, h := range r.Hops {
		if h.text(b); i < len(r.Hops)-1 {
			fmt.Fprintf(b, ours+"redirect %d, followed\n", i+1)
		}
	}
	for _, c := range r.Checks {
		printable.Fprintf(b, ours+"check    %s  %s%s\n", verdict(c.Passed), c.Check, found(c.Got))
	}
	r.Stream.text(b)
	for _, g := range r.Goals {
		g.text(b)
	}
	for _, t := range r.Takes {
		printable.Fprintf(b, ours+"take     %s  %s = %s, from %s\n", verdict(t.Found), t.Name, cmp.Or(t.Value, "nothing"), t.From)
	}
	if len(r.Hidden) > 0 {
		b.WriteString(ours + "secrets  not shown; --show-secrets shows them\n")
	}
	b.WriteString(ours + "result   ")
	switch {
	case !r.OK:
		printable.Fprintf(b, "FAILED: %s, ", r.reason())
	case r.Status != "":
		printable.Fprintf(b, "ok: %s, ", r.Status)
	default:
		b.WriteString("ok: ")
	}
	fmt.Fprintf(b, "%s out, %s in, %s\n", units.Bytes(r.BytesOut), units.Bytes(r.BytesIn), units.Duration(r.Total))
}

// verdict marks what a check or take said.
func verdict(ok bool) string {
	if ok {
		return "ok    "
	}
	return "FAILED"
}

// text writes a request and its answer on a connection.
func (h Hop) text(b *bytes.Buffer) {
	how := "none"
	switch {
	case h.Reused:
		how = fmt.Sprintf("%d, used before", h.Connection)
	case h.Connection > 0:
		how = fmt.Sprintf("%d, new", h.Connection)
	}
	printable.Fprintf(b, ours+"address  %s, connection %s\n", cmp.Or(h.Remote, "not known"), how)
	h.TLS.text(b)
	if h.Unsent {
		b.WriteString(ours + "sent     nothing; it was to be:\n")
	}
	h.Sent.text(b, sent)
	h.Came.text(b, came)
	h.Times.text(b)
	if h.Closed {
		b.WriteString(ours + "closed   by the server\n")
	}
}

// text writes what is known of TLS.
func (t *TLS) text(b *bytes.Buffer) {
	if t == nil {
		return
	}
	if t.Version != "" {
		how := "a new session"
		if t.Resumed {
			how = "an earlier session resumed"
		}
		printable.Fprintf(b, ours+"tls      %s, %s, ALPN %s, server name %s, %s\n", t.Version, t.Cipher, cmp.Or(t.Protocol, "none"), cmp.Or(t.Server, "none"), how)
	}
	printable.Fprintf(b, ours+"server   %s, issued by %s, until %s UTC\n", cmp.Or(t.Subject, "no name"), cmp.Or(t.Issuer, "no name"), t.NotAfter.UTC().Format(time.DateTime))
}

// text writes the phases that there were.
func (t Times) text(b *bytes.Buffer) {
	b.WriteString(ours + "times    ")
	for _, p := range []struct {
		name string
		ns   int64
	}{{"dns", t.DNS}, {"connect", t.Connect}, {"tls", t.TLS}, {"wait", t.Wait}} {
		if p.ns > 0 {
			fmt.Fprintf(b, "%s %s, ", p.name, units.Duration(p.ns))
		}
	}
	if t.First > 0 {
		if t.Body > 0 {
			fmt.Fprintf(b, "body %s, ", units.Duration(t.Body))
		}
		fmt.Fprintf(b, "first byte after %s, ", units.Duration(t.First))
	}
	fmt.Fprintf(b, "total %s\n", units.Duration(t.Total))
}

// text writes a message, each line behind a mark.
func (m Message) text(b *bytes.Buffer, mark string) {
	if m.Start != "" {
		printable.Fprintf(b, mark+"%s\n", m.Start)
	}
	for _, h := range m.Headers {
		printable.Fprintf(b, mark+"%s: %s\n", h.Name, h.Value)
	}
	if m.Start != "" && len(m.raw) > 0 {
		b.WriteString(strings.TrimRight(mark, " ") + "\n")
	}
	body := string(m.raw)
	if m.Base64 {
		body = hex.Dump(m.raw)
	}
	for line := range strings.Lines(body) {
		printable.Fprintf(b, mark+"%s\n", strings.TrimRight(line, "\r\n"))
	}
	if m.Cut {
		printable.Fprintf(b, ours+"body     %s of %s; --body-bytes shows more\n", units.Bytes(int64(len(m.raw))), units.Bytes(m.Bytes))
	}
}
