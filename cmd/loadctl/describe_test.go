package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report"
)

// TestTargetIsShown: status, ls and the report show the target and the flags, without secrets.
func TestTargetIsShown(t *testing.T) {
	l := newLab(t)
	const target, flags = "POST http://redacted@127.0.0.1/", "--header 'A: [redacted]' --body-file '[7 bytes, SHA-256 f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7]' --qps 100"
	var now status
	var all []run.Entry
	var rep report.Report
	for _, c := range []struct {
		command string
		into    any
		says    []string
	}{
		{"status x", &now, []string{"\ntarget   " + target + "\n", "\nflags    " + flags}},
		{"ls", &all, []string{"  " + target + "  --header 'A: [redacted]' --body-file '[7 bytes, SHA-256 "}},
		{"report x", &rep, []string{"\ntarget      " + target + "\n", "\nflags       " + flags}},
	} {
		text := l.does(c.into, strings.Fields(c.command)...)
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", c.command, want, text)
			}
		}
	}
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	for _, s := range []report.Setting{now.Setting, all[0].Setting, rep.Described.Setting} {
		if s.Target() != target || !strings.HasPrefix(s.Line(), flags) || !slices.Equal(s.Withheld, []string{"--url", "--header A", "--body-file"}) {
			t.Errorf("%+v", s)
		}
	}
	if rep.Described.ReportedBy != "loadctl dev" {
		t.Errorf("%+v", rep.Described)
	}
}
