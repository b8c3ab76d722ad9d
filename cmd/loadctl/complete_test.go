package main

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
)

// TestCompletion: a shell completes runs, and for workers rm the workers of the run.
func TestCompletion(t *testing.T) {
	l := newLab(t)
	l.start()
	for line, want := range map[string]string{
		"workers rm ":             "x\trunning\n",
		"workers rm x ":           "w\tactive\n",
		"workers rm x w ":         "",
		"workers rm nosuch ":      "",
		"status x -o ":            "text\njson\n",
		"create y --profile ":     "replay:\nsine:\nspike:\nsteps:\n",
		"profile show ":           "replay:\nsine:\nspike:\nsteps:\n",
		"run y --url noop:// -o ": "text\njson\n",
	} {
		stdout, _, code := execute(append([]string{"__complete"}, strings.Split(line, " ")...)...)
		if code != cli.CodeGood || !strings.HasPrefix(stdout, want) || want == "" && !strings.HasPrefix(stdout, ":") {
			t.Errorf("%q: exit code %d, %q, want %q", line, code, stdout, want)
		}
	}
}
