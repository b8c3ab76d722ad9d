package main

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/cli"
)

// TestCompletion: a shell knows the words that --pace-resolution takes.
func TestCompletion(t *testing.T) {
	stdout, _, code := execute("__complete", "run", "--pace-resolution", "")
	if code != cli.CodeGood || !strings.HasPrefix(stdout, "auto\nprecise\neconomical\n") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
}
