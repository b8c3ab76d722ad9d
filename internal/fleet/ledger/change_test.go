package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

const budgets = "{load:_endpoints}:budgets"

func isFull(err error) bool { return errors.Is(err, ledger.ErrFull) }

// TestChangedWaitsForRuns: a cut is done when the run knows it, and sends no more than it may. Behind has the run until then.
func TestChangedWaitsForRuns(t *testing.T) {
	t.Parallel()
	l := ledgertest.Calm(t, redistest.Start(t).Client())
	r := reserve.Ask{Host: "api:80", Run: "r", Want: 100}
	g := ask(t, l, r)
	c, err := l.Set(t.Context(), "api", 60, true, ledger.Note{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- l.Changed(t.Context(), c) }()
	for call := range 3 { // it gets to know the cut; it says so; it obeys
		if status, err := l.Known(t.Context(), c); status != "WAITING" || err != nil {
			t.Fatalf("%s, error %v", status, err)
		}
		if behind := list(t, l).Behind(c); len(behind) != 1 || behind[0].Run != "r" {
			t.Fatalf("%+v", behind)
		}
		r = again(r, g)
		if call == 2 {
			r.Want = g.Cap
		}
		g = ask(t, l, r)
	}
	if err := await.Receive(t, "the end of the wait", done); err != nil || len(list(t, l).Behind(c)) != 0 || g.Rate != 60 {
		t.Errorf("error %v, %+v", err, g)
	}
}

// TestChangedMakesItAgain: a failover that forgets a change does not end the wait for it. The change is made again.
func TestChangedMakesItAgain(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	l := ledgertest.Calm(t, client)
	for _, make := range []func() (ledger.Change, error){
		func() (ledger.Change, error) { return l.Set(t.Context(), "api", 60, false, ledger.Note{Text: "note"}) },
		func() (ledger.Change, error) { return l.Set(t.Context(), "api", 50, true, ledger.Note{Text: "note"}) },
		func() (ledger.Change, error) { return l.Freeze(t.Context(), "api", ledger.Note{Text: "why"}) },
		func() (ledger.Change, error) { return l.Thaw(t.Context(), "api", ledger.Note{Text: "over"}) },
	} {
		before := client.HGet(t.Context(), budgets, "b/api").Val()
		c, err := make()
		if err != nil {
			t.Fatal(err)
		}
		client.HDel(t.Context(), budgets, "b/api", "n/api", "w/api")
		if before != "" {
			client.HSet(t.Context(), budgets, "b/api", before)
		}
		if err := l.Changed(t.Context(), c); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		b := list(t, l).Budget("api")
		version, note := b.Version, b.Note
		if c.Kind == "freeze" || c.Kind == "thaw" {
			version, note = b.Freeze, b.Why
		} else if b.Rate != c.Rate {
			t.Errorf("after %+v there is %+v", c, b)
		}
		if version <= c.Version || note != c.Note || b.Frozen != (c.Kind == "freeze") {
			t.Errorf("after %+v there is %+v", c, b)
		}
	}
}

// TestChangedEnds: a later change ends the wait, and so does the context. A freeze is no later change of a rate.
func TestChangedEnds(t *testing.T) {
	t.Parallel()
	l := ledgertest.Calm(t, redistest.Start(t).Client())
	ask(t, l, reserve.Ask{Host: "api:80", Run: "r", Want: 10})
	c, err := l.Set(t.Context(), "api", 60, false, ledger.Note{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Freeze(t.Context(), "api", ledger.Note{}); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := l.Changed(short, c); !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "set the budget of api: ") {
		t.Errorf("error %v", err)
	}
	if _, err := l.Set(t.Context(), "api", 70, false, ledger.Note{}); err != nil {
		t.Fatal(err)
	}
	if err := l.Changed(t.Context(), c); !errors.Is(err, ledger.ErrChanged) {
		t.Errorf("error %v", err)
	}
}

// TestChangedIsFull: what a server has forgotten may leave no room for the change when it is made again.
func TestChangedIsFull(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	l := ledgertest.Calm(t, client)
	c, err := l.Set(t.Context(), "api", 60, false, ledger.Note{})
	if err != nil {
		t.Fatal(err)
	}
	client.HDel(t.Context(), budgets, "b/api")
	ask(t, l, reserve.Ask{Host: "api:80", Run: "r", Want: 61})
	if err := l.Changed(t.Context(), c); !isFull(err) {
		t.Errorf("error %v", err)
	}
}

// TestChangedOutlivesAnOutage: the wait goes on while Redis does not answer, and ends when all is done.
func TestChangedOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	client := server.Client()
	l := ledgertest.Calm(t, client)
	r := reserve.Ask{Host: "api:80", Run: "r", Want: 10}
	g := ask(t, l, r)
	c, err := l.Set(t.Context(), "api", 60, false, ledger.Note{})
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	done := make(chan error, 1)
	go func() { done <- l.Changed(t.Context(), c) }()
	await.True(t, "no answer", func() bool { _, err := l.Known(t.Context(), c); return err != nil })
	server.Restart()
	ledgertest.Calm(t, client)
	ask(t, l, again(r, ask(t, l, again(r, g))))
	if err := await.Receive(t, "the end of the wait", done); err != nil {
		t.Error(err)
	}
}
