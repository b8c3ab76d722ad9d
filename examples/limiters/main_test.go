package main

import (
	"go/format"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer/limit"
)

// TestShow: each limiter has its row, and grants at once what it can.
func TestShow(t *testing.T) {
	t.Setenv("REDIS_URL", "redis://127.0.0.1:1") // nobody is there: the argument wins
	var out strings.Builder
	if err := show(t.Context(), []string{redistest.Start(t).URL()}, &out); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(rows) != len(limit.Names()) {
		t.Errorf("%d rows for %d limiters", len(rows), len(limit.Names()))
	}
	for i, row := range rows {
		want := "10 at once"
		if i >= 4 { // those with a burst
			want = " 5 at once"
		}
		if !strings.Contains(row, want) || !strings.Contains(row, "x") {
			t.Errorf("%q, want %q and some more", row, want)
		}
	}
}

// TestShowWhere: the Redis is also taken from REDIS_URL, and what cannot be one is an error of one line.
func TestShowWhere(t *testing.T) {
	t.Setenv("REDIS_URL", "redis://127.0.0.1:1")
	for want, args := range map[string][]string{
		"127.0.0.1:1: connect": nil,
		"the URL of Redis":     {"127.0.0.1"},
		"give one":             {"redis://127.0.0.1", "again"},
	} {
		err := show(t.Context(), args, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want it to say %q", args, err, want)
		}
	}
}

// TestProgram runs the program that docs/limiters.md shows.
func TestProgram(t *testing.T) {
	text, err := os.ReadFile("../../docs/limiters.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```go\n")
	program, _, found := strings.Cut(rest, "```")
	if formatted, err := format.Source([]byte(program)); !found || err != nil || string(formatted) != program {
		t.Fatalf("docs/limiters.md begins with no formatted Go program: %v", err)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", file, redistest.Start(t).Addr()).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1 granted, 19 more at once; again after 0s") {
		t.Errorf("%v, it prints\n%s", err, out)
	}
}
