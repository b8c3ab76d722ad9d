package main

import (
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/cli"
)

// TestCompare: the table, and the exit codes of --fail-on.
func TestCompare(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	a, b, again := archiveOf(t, "a", 40, 10*time.Millisecond), archiveOf(t, "b", 40, 25*time.Millisecond), archiveOf(t, "c", 40, 10*time.Millisecond)
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{a, b}, cli.CodeGood, []string{"latency:p(50)        10.5ms      26.2ms       +150 %", ": higher", "rate                  100/s       100/s       +0.0 %", "note        one run a side"}},
		{[]string{b, a}, cli.CodeGood, []string{"-60.0 %", ": lower"}},
		{[]string{a, again, b}, cli.CodeGood, []string{"other       " + again, "other       " + b, "+150 %"}},
		{[]string{a + "," + again, b}, cli.CodeGood, []string{", 2 runs\n", "one run a side"}},
		{[]string{a, b, "--fail-on", "latency:p(99)>+10%"}, cli.CodeThreshold, []string{"error: " + b + ": latency:p(99)>+10%: met, the difference is +150 % (", "\nfail-on     ✗ " + b}},
		{[]string{a, b, "--fail-on", "latency:p(99)>+200%"}, cli.CodeGood, []string{"+150 %"}},
		{[]string{a, again, "--fail-on", "latency:p(99)>+2%", "--fail-on", "rate<-1%"}, cli.CodeGood, []string{"no difference seen", "\nfail-on     ✓ " + again}},
		{[]string{a, again, "--fail-on", "latency:p(99)>+1%"}, cli.CodeInvalid, []string{"no difference seen", "\nfail-on     ? " + again}},
		{[]string{a, again, "--fail-on", "latency:p(99.9)>+1%"}, cli.CodeThreshold, []string{"cannot tell, there is no interval: too few requests", "\nfail-on     ? " + again}},
		{[]string{a, b, "--fail-on", "latency:p(99)>+150%", "--fail-on", "rate<-50%"}, cli.CodeInvalid, []string{
			"error: " + b + ": latency:p(99)>+150%: cannot tell, the difference is +150 % (", "; compare longer runs, or more of them",
			"\nfail-on     ? " + b + ": latency:p(99)>+150%: cannot tell", "\nfail-on     ✓ " + b + ": rate<-50%: not met, the difference is +0.0 % (",
		}},
		{[]string{a, b, "--fail-on", "latency:p(99)>+150%", "--fail-on", "latency:p(50)>+10%"}, cli.CodeThreshold, []string{"p(50)>+10%: met", "p(99)>+150%: cannot tell"}},
	} {
		stdout, stderr, code := execute(append([]string{"compare"}, c.args...)...)
		for _, says := range c.says {
			if !strings.Contains(stdout+stderr, says) {
				t.Errorf("%q does not say %q:\n%s%s", c.args, says, stdout, stderr)
			}
		}
		if code != c.code {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, code, c.code, stderr)
		}
	}
}

// TestCompareRefused: sides that do not fit together are refused, unless --force is given.
func TestCompareRefused(t *testing.T) {
	l, dir := newLab(t), t.TempDir()
	l.start()
	a := archiveOf(t, "a", 8, time.Millisecond)
	refused(t, []string{"compare", a}, "usage: loadctl compare BASE OTHER...")
	refused(t, []string{"compare", a, dir + "/none.loadctl"}, "no such file")
	refused(t, []string{"compare", a, a, "--fail-on", "p99>1"}, "--fail-on: \"p99>1\": write a figure, > or <, and a difference in percent")
	b, copied := archiveOf(t, "b", 8, time.Millisecond), filepath.Join(dir, "copied.loadctl")
	text, err := os.ReadFile(a)
	if err == nil {
		err = os.WriteFile(copied, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused(t, []string{"compare", b, a + "," + a}, "compare: "+a+" and "+a+" are the same run; give each run of a side once")
	refused(t, []string{"compare", a + "," + b + "," + copied, b, "--force"}, "compare: "+a+" and "+copied+" are the same run; give each run of a side once")
	refused(t, []string{"compare", a, "x"}, "x is still running; wait for its end", "--force compares them anyway")
	stdout, stderr, code := execute("compare", a, "x", "--force")
	if code != cli.CodeGood || strings.Count(stdout+stderr, "x is still running") != 1 || !strings.Contains(stdout, "none: nothing ended") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	stdout, stderr, code = execute("compare", a, "x", "--force", "--out", filepath.Join(dir, "x.md"))
	if code != cli.CodeGood || !strings.Contains(stderr, "warning: x is still running") || stdout != "" {
		t.Errorf("in a file alone: exit code %d, %s%s", code, stdout, stderr)
	}
}

// TestCompareFormats: each format on standard output and, by its ending, in a file; also if --fail-on fails.
func TestCompareFormats(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	a, b, dir := archiveOf(t, "a", 40, 10*time.Millisecond), archiveOf(t, "b", 40, 25*time.Millisecond), t.TempDir()
	for format, c := range map[string]struct{ ending, begins string }{
		"text": {".txt", "base        "}, "json": {".json", "{\n"}, "markdown": {".md", "### `"}, "html": {".html", "<!DOCTYPE html>"},
	} {
		shown, stderr, code := execute("compare", a, b, "-o", format)
		if code != cli.CodeGood || !strings.HasPrefix(shown, c.begins) || stderr != "" {
			t.Errorf("%s: exit code %d, %s\n%.200s", format, code, stderr, shown)
		}
		file := filepath.Join(dir, "x"+c.ending)
		stdout, stderr, code := execute("compare", a, b, "--out", file)
		if text, err := os.ReadFile(file); err != nil || string(text) != shown || stdout != "" || code != cli.CodeGood {
			t.Errorf("%s: %v, exit code %d, %s\n%.200s\nwant\n%.200s", file, err, code, stderr, text, shown)
		}
		stdout, _, code = execute("compare", a, b, "--out", file, "--fail-on", "latency:p(99)>+10%")
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(html.UnescapeString(string(text)), "the difference is +150 %") || stdout != "" || code != cli.CodeThreshold {
			t.Errorf("%s with --fail-on: %v, exit code %d\n%.500s", file, err, code, text)
		}
	}
	refused(t, []string{"compare", a, b, "-o", "hgrm"}, "there are text, json, markdown, html")
	refused(t, []string{"compare", a, b, "--out", filepath.Join(dir, "none", "x.html")}, "give a file in a directory that is there")
	refused(t, []string{"compare", a, b, "--out", filepath.Join(dir, "x.csv")}, "no format of the comparison ends in .csv; there are .txt .json .md .html")
}
