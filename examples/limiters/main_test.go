package main

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/pacer/limit"
)

// TestShow: each limiter has its row, and grants at once what it can.
func TestShow(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", redistest.Start(t).URL())
	var out strings.Builder
	if err := show(t.Context(), &out); err != nil {
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
