package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/loadctl/loadctl/internal/console/lastly"
	"github.com/loadctl/loadctl/internal/console/screen"
	"github.com/loadctl/loadctl/internal/console/watch/watchtest"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report/record"
)

// bugVariable makes this test binary a program with a screen that has a bug: its value says where.
const bugVariable = "LOADCTL_TEST_BUG"

func TestMain(m *testing.M) {
	if where := os.Getenv(bugVariable); where != "" {
		os.Exit(withBug(where))
	}
	os.Exit(m.Run())
}

// withBug shows a screen until its bug.
func withBug(where string) (code int) {
	defer func() {
		if bug := recover(); bug != nil {
			fmt.Printf("this is a bug: %v\n", bug)
			code = 109
		}
	}()
	ctx, end := lastly.With(context.Background())
	looks := 0
	look := func(context.Context) (results.Look, error) {
		if looks++; looks > 1 && where == "look" {
			panic("a look")
		}
		l := results.Look{Progress: results.Progress{State: &run.State{Run: "buggy", Phase: "running"}, Latency: record.NewHistogram()}}
		if where == "frame" && looks > 1 {
			l.State = nil
		}
		return l, nil
	}
	give := func(context.Context, screen.Order) (string, error) {
		if where == "exit" {
			end()
			os.Exit(7)
		}
		panic("a command")
	}
	err := hold(ctx, screen.Options{Run: "buggy", In: os.Stdin, Out: os.Stderr, Give: give}, look, nil)
	if where == "exit" {
		select {} // end closed the screen, which ends hold: it must not overtake os.Exit
	}
	if errors.Is(err, ErrLeft) {
		fmt.Println("left")
	}
	return 0
}

// TestBugsGiveTheTerminalBack: after a panic anywhere, and after an end at once, the shell is as it was.
func TestBugsGiveTheTerminalBack(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it: it needs tmux")
	}
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]string{"look": "exit=109", "frame": "exit=109", "command": "exit=109", "exit": "exit=7", "none": "exit=0"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			m := watchtest.NewTmux(t, 80, 24, bugVariable+"="+where)
			m.Run(program + "; echo exit=$?")
			switch where {
			case "command", "exit":
				m.See("buggy  running")
				m.Press("Space")
			case "none":
				m.See("buggy  running")
				m.Press("q")
			}
			m.See(want)
			m.Clean()
		})
	}
}
