package watch

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/console/watch/watchtest"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report/record"
)

// TestOnlyWhatIsDueIsShown: a line is shown only when due; then also an earlier state, if it was not shown.
func TestOnlyWhatIsDueIsShown(t *testing.T) {
	at := func(phase string, sent int64) results.Look {
		return results.Look{Progress: results.Progress{State: &run.State{Run: "x", Phase: phase, Members: 1}, Counts: record.Counts{Sent: sent}, Latency: record.NewHistogram()}}
	}
	var out bytes.Buffer
	o := lines{every: time.Minute, line: newLine(&out)}
	shows := func(do func(), want string) {
		t.Helper()
		out.Reset()
		if do(); !strings.Contains(out.String(), want) || want == "" && out.Len() > 0 {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
	shows(func() { o.Show(at("running", 1)) }, "sent 1 ")
	shows(func() { o.Show(at("running", 2)) }, "")
	o.shown = o.shown.Add(-time.Minute)
	shows(func() { o.Show(at("running", 2)) }, "sent 2 ")
	shows(func() { o.Trouble("no answer") }, "no answer\n")
	shows(func() { o.Trouble("still none") }, "")
	shows(func() { o.Show(at("running", 2)) }, "sent 2 ")
	shows(func() { o.Show(at("running", 3)) }, "")
	last := at("ended", 4)
	last.Settled = true
	shows(func() { o.Show(last) }, "sent 4 ")

	o = lines{line: newLine(&out)} // --progress 0
	shows(func() { o.Trouble("no answer"); o.Show(last) }, "")
}

// TestAskSaysWhenThereIsNoAnswer: a server that hangs blocks a call for seconds; Ctrl-C does not wait for it.
func TestAskSaysWhenThereIsNoAnswer(t *testing.T) {
	var out watchtest.Buffer
	o := &lines{every: time.Second, line: newLine(&out)}
	answer := make(chan error)
	look := func(context.Context) (results.Look, error) {
		return results.Look{Progress: results.Progress{AskedAt: 7}}, <-answer
	}
	go func() {
		for !strings.Contains(out.String(), "x: Redis does not answer; waiting for it\n") {
			time.Sleep(time.Millisecond)
		}
		answer <- nil
	}()
	if now, err := ask(t.Context(), "x", look, o); err != nil || now.AskedAt != 7 {
		t.Errorf("%+v, %v", now, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ask(ctx, "x", look, o); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	answer <- nil // to the look that was left alone
}
