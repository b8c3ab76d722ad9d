//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	tested "github.com/loadctl/loadctl/internal/proof/commands"
)

// TestSmoke fires a real worker at the real endpoint, with a real Redis: as fast as it can, and at rates. It leaves
// the other tools out, so that it needs no more than the other tests.
func TestSmoke(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it takes all cores")
	}
	if err := needCores(); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // child processes die with this thread
	defer runtime.UnlockOSThread()
	dir := t.TempDir()
	built, err := tested.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer built.Remove()
	b := &bench{options: options{rounds: 1, quick: true}, dir: dir, bin: built.Dir}
	if b.redis, err = startRedis(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	defer b.redis.stop()

	for _, c := range []struct {
		experiment string
		rows, cols int
		plots      []string
	}{
		{"saturation", 6, 7, []string{"saturation.svg"}},
		{"tls", 1, 7, nil},
		{"tls-rate", 2, 10, nil},
		{"streams", 2, 7, nil},
		{"rate", 7, 10, []string{"lateness.svg", "gaps.svg"}},
	} {
		chosen, err := choose(c.experiment)
		if err != nil {
			t.Fatal(err)
		}
		var s *section
		await.True(t, c.experiment+": a round that fills its tables", func() bool { // in a quick one a slow machine may measure nothing
			s = &section{name: c.experiment}
			if err := chosen[0].run(t.Context(), b, s); err != nil {
				t.Fatalf("%s: %v", c.experiment, err)
			}
			wrong := append(wrongRows(s.text.String(), c.rows, c.cols), s.failures...)
			for _, w := range wrong {
				t.Logf("%s: %s", c.experiment, w)
			}
			return len(wrong) == 0
		})
		for _, p := range c.plots {
			if !strings.Contains(s.plots[p], "loadworker") {
				t.Errorf("%s has no worker", filepath.Join(c.experiment, p))
			}
		}
	}
}

// wrongRows says what is wrong with a table. Each worker must have its row, with a figure in each cell. Only ratios to
// missing tools may be empty.
func wrongRows(text string, rows, cols int) (wrong []string) {
	figure := regexp.MustCompile(`^-?[\d.,]+( / [\d.,]+| ×)?$`)
	found := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| loadworker") {
			continue
		}
		found++
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != cols {
			wrong = append(wrong, fmt.Sprintf("%d cells instead of %d: %s", len(cells), cols, line))
		}
		for i, cell := range cells[1:] {
			toOthers := cols == 7 && (i == 1 || i == 3)
			if !figure.MatchString(cell) && (!toOthers || cell != "") || !toOthers && i == 0 && cols == 7 && cell == "0" {
				wrong = append(wrong, fmt.Sprintf("cell %d is %q: %s", i+2, cell, line))
			}
		}
	}
	if found != rows {
		wrong = append(wrong, fmt.Sprintf("%d rows instead of %d:\n%s", found, rows, text))
	}
	return wrong
}
