package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestLimiters compares the table with the output of `loadctl limiters` and `loadctl limiters -o json` in testdata.
func TestLimiters(t *testing.T) {
	for file, args := range map[string][]string{
		"limiters.txt":  {"limiters"},
		"limiters.json": {"limiters", "-o", "json"},
	} {
		want, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, code := execute(args...); code != cli.CodeGood || stderr != "" || stdout != string(want) {
			t.Errorf("%v: exit code %d, stderr %q, stdout\n%s\nwant\n%s", args, code, stderr, stdout, want)
		}
	}
	stdout, _, _ := execute("limiters", "gcra", "fixed-window", "-o", "json")
	var some explained
	if err := json.Unmarshal([]byte(stdout), &some); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	if len(some.Limiters) != 3 || some.Limiters[2].Name != "fixed-window" {
		t.Errorf("%s", stdout)
	}
}

func TestLimitersRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"bucket"}, `limiter "bucket": there is none; take one of gcra, token-bucket, leaky-bucket, `},
		{[]string{"tokenbucket"}, `limiter "tokenbucket": there is none; did you mean token-bucket? Or take one of gcra, `},
		{[]string{"-o", "csv"}, `--output "csv": there are text, json`},
	} {
		refused(t, append([]string{"limiters"}, c.args...), c.says)
	}
}

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

// TestLimitersWriteError: if the table cannot be written, that is an error.
func TestLimitersWriteError(t *testing.T) {
	full := writerFunc(func([]byte) (int, error) { return 0, errors.New("no space left") })
	if code := cli.Main(newRootCommand(), []string{"limiters"}, full, io.Discard); code != cli.CodeOther {
		t.Errorf("exit code %d", code)
	}
}
