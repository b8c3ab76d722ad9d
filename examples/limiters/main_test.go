package main

import (
	"io"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/redistest"
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
