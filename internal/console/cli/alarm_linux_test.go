package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/watch/watchtest"
	"github.com/loadctl/loadctl/internal/output/printable"
)

// TestNotSentIsRed: on a terminal that has colours. Nothing else of a report steers it.
func TestNotSentIsRed(t *testing.T) {
	const text = "run         \x1b[2J\ncompleted   7\nNOT SENT    9.00 % of what was asked for, see the audit\nnote        NOT SENT\n"
	for name, c := range map[string]struct{ noColor, term, want string }{
		"colours":  {"", "xterm", "\x1b[31mNOT SENT    9.00 % of what was asked for, see the audit\x1b[0m"},
		"NO_COLOR": {"1", "xterm", "NOT SENT    9.00 %"},
		"dumb":     {"", "dumb", "NOT SENT    9.00 %"},
	} {
		p := watchtest.NewTerminal(t, 80)
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		if n, err := alarmed(printable.NewWriter(p.Slave)).Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		got := p.Shown()
		if !strings.Contains(got, "\n"+c.want) || strings.Count(got, "\x1b") != strings.Count(c.want, "\x1b") {
			t.Errorf("%s: %q", name, got)
		}
	}
	var b bytes.Buffer
	if w := alarmed(&b); w != &b {
		t.Error("a file gets colours")
	}
}
