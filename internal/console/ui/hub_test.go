package ui

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// bed is a hub on a private Redis.
type bed struct {
	*testing.T
	hub    *Hub
	client rdb.Client
}

// newBed returns a hub that watches a run for a moment after the last page has left.
func newBed(t *testing.T) *bed {
	t.Helper()
	t.Parallel()
	client := redistest.Start(t).Client()
	h := newHub(t.Context(), func(context.Context) (rdb.Client, error) { return client, nil }, "loadctl test", true)
	h.linger = 50 * time.Millisecond
	return &bed{t, h, client}
}

// create makes a run that waits for a worker.
func (b *bed) create(name string) *run.Run {
	b.Helper()
	s := spec.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(10), MaxLag: spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp, MinWorkers: 1}
	r, _, err := run.Create(b.Context(), b.client, name, s, run.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// watchers returns how many runs the hub knows.
func (b *bed) watchers() int {
	b.hub.mu.Lock()
	defer b.hub.mu.Unlock()
	return len(b.hub.watchers)
}

// watch returns the watcher of a run.
func (b *bed) watch(name string) *watcher {
	b.Helper()
	w, err := b.hub.watcher(b.Context(), name, b.hub.linger)
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// TestPagesShareAWatcher: many pages that come at the same time, and scrapes of metrics, have one watcher. All pages get
// the same bytes. It ends when all have left.
func TestPagesShareAWatcher(t *testing.T) {
	b := newBed(t)
	b.create("x")
	const pages = 50
	frames := make([][]byte, pages)
	var all sync.WaitGroup
	first := b.watch("x")
	p, _ := first.join()
	for i := range pages {
		all.Go(func() {
			w := b.watch("x")
			if w != first {
				t.Error("a page has a watcher of its own")
			}
			p, _ := w.join()
			defer w.leave(p)
			for range 2 {
				frames[i] = (<-p.messages).data
			}
		})
	}
	all.Go(func() {
		for range 20 {
			w := b.watch("x")
			seen, err := w.await(t.Context())
			if err != nil || seen.look == nil || len(seen.look.Fleet()) != 0 {
				t.Error(err)
			}
			first.hurry()
		}
	})
	all.Wait()
	if b.watchers() != 1 {
		t.Errorf("%d watchers", b.watchers())
	}
	shared := map[*byte]bool{}
	for _, f := range frames {
		shared[&f[0]] = true
	}
	if len(shared) > pages/2 {
		t.Errorf("%d pages have %d frames of their own", pages, len(shared))
	}
	first.leave(p)
	await.True(b, "the end of the watcher", func() bool { return b.watchers() == 0 })
}

// TestPagesThatLagAreCutOff: a page that reads nothing loses its place, and another one gets all.
func TestPagesThatLagAreCutOff(t *testing.T) {
	b := newBed(t)
	b.create("x")
	w := b.watch("x")
	deaf, _ := w.join()
	good, _ := w.join()
	defer w.leave(good)
	for range 3 * lagging {
		w.hurry()
		if _, open := <-good.messages; !open { // a frame, or the trouble of a Redis that is slow to answer
			t.Fatal("a good page was cut off")
		}
	}
	got := 0
	for range deaf.messages { // until it is closed
		got++
	}
	if got != lagging {
		t.Errorf("a page that reads nothing had %d messages in store, want %d", got, lagging)
	}
}

// TestLooks: metrics have runs that are not over, and those that ended a moment ago. Of the runs that are over, few are
// kept.
func TestLooks(t *testing.T) {
	b := newBed(t)
	for i := range keptFinal + 8 {
		r := b.create(fmt.Sprint("run-", i))
		if _, err := r.Abort(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	b.create("going")
	looks, err := b.hub.Looks(t.Context())
	if err != nil || len(looks) != keptFinal+9 {
		t.Fatalf("%d looks, %v", len(looks), err)
	}
	over := 0
	for _, l := range looks {
		if l.Settled {
			over++
		}
	}
	if over != keptFinal+8 {
		t.Errorf("%d runs are over", over)
	}
	for i := range keptFinal + 8 { // nobody needs them any more
		w := b.watch(fmt.Sprint("run-", i))
		w.mu.Lock()
		w.needed = time.Now()
		w.mu.Unlock()
	}
	b.hub.mu.Lock()
	last := b.hub.watchers["run-0"]
	b.hub.finals = b.hub.finals[:len(b.hub.finals)-1]
	b.hub.mu.Unlock()
	await.True(b, "nobody who needs them", last.idle)
	b.hub.keep(last)
	await.True(b, "few that are kept", func() bool { return b.watchers() <= keptFinal+1 })
}
