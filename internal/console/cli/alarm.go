package cli

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/report/render"
)

// alarmed returns a writer of text reports that shows on a terminal in red how much was not sent. Elsewhere it is w.
func alarmed(w io.Writer) io.Writer {
	file, ok := printable.File(w)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return w
	}
	return alarm{file}
}

// alarm writes to a terminal. Only the line that begins with render.NotSentLabel steers it.
type alarm struct{ terminal io.Writer }

// Write implements io.Writer. Each text holds whole lines.
func (a alarm) Write(text []byte) (int, error) {
	var clean, shown bytes.Buffer
	if _, err := printable.NewWriter(&clean).Write(text); err != nil {
		return 0, err
	}
	for line := range bytes.Lines(clean.Bytes()) {
		if whole, ended := bytes.CutSuffix(line, []byte("\n")); ended && bytes.HasPrefix(line, []byte(render.NotSentLabel)) {
			line = append(append([]byte("\x1b[31m"), whole...), "\x1b[0m\n"...)
		}
		shown.Write(line)
	}
	if _, err := a.terminal.Write(shown.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}
