package main

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestNarrow: a burst so small that a part of the rate may be lost causes a warning on stderr, wherever it is set or
// comes into being.
func TestNarrow(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", redistest.Start(t).URL())
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"create", "x", "--url", "noop://", "--qps", "500", "--limiter", "token-bucket", "--burst", "4"}, "a burst of 5 is enough\n"},
		{[]string{"set-burst", "x", "0.1k"}, ""},
		{[]string{"set-burst", "x", "3"}, "a burst of 5 is enough\n"},
		{[]string{"set-rate", "x", "1k"}, "a burst of 10 is enough\n"},
		{[]string{"set-rate", "x", "60k/m"}, "a burst of 10 is enough\n"},
		{[]string{"set-rate", "x", "300"}, ""},
		{[]string{"create", "y", "--url", "noop://", "--qps", "500", "--limiter", "sliding-log", "--window", "4ms"}, "a window of 20ms is enough\n"},
		{[]string{"create", "z", "--url", "noop://", "--qps", "500"}, ""},
	} {
		_, stderr, code := execute(c.args...)
		line := strings.HasPrefix(stderr, "warning: run "+c.args[1]+": some of ") && strings.HasSuffix(stderr, c.says) && strings.Count(stderr, "\n") == 1
		if code != cli.CodeGood || c.says == "" && stderr != "" || c.says != "" && !line {
			t.Errorf("%v: exit code %d, %q", c.args, code, stderr)
		}
	}
}
