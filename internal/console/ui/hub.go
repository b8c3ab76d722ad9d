package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report"
)

// How long a run is watched after the last page has left, and after the last scrape of /metrics. A scrape comes each
// minute at the latest.
const (
	afterPages  = 30 * time.Second
	afterScrape = 150 * time.Second
)

// keptFinal is how many runs that are over keep their last frame.
const keptFinal = 16

// lookedBack is how long after its end a run is still among the Looks.
const lookedBack = 10 * time.Minute

// A Hub watches runs: one watcher for each, which all pages and /metrics share. It starts with the first reader, and
// ends a while after the last one. Its methods may be called from any goroutine.
type Hub struct {
	ctx     context.Context // ends all watchers
	connect func(context.Context) (rdb.Client, error)
	program string // what its reports say made them
	control bool
	linger  time.Duration // how long a run is watched after the last page has left

	mu       sync.Mutex
	watchers map[string]*watcher
	finals   []string // runs that are over, in the order of their last use
}

// newHub returns a hub that watches until ctx ends.
func newHub(ctx context.Context, connect func(context.Context) (rdb.Client, error), program string, control bool) *Hub {
	return &Hub{ctx: ctx, connect: connect, program: program, control: control, linger: afterPages, watchers: map[string]*watcher{}}
}

// watcher returns the watcher of a run, and starts it if there is none. It goes on for at least this long.
func (h *Hub) watcher(ctx context.Context, name string, atLeast time.Duration) (*watcher, error) {
	if err := run.ValidateName("run", name); err != nil {
		return nil, fmt.Errorf("%w: %w", run.ErrNoRun, err)
	}
	h.mu.Lock()
	w := h.watchers[name]
	h.mu.Unlock()
	if w != nil && w.replaced(ctx) {
		h.drop(w)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if w = h.watchers[name]; w == nil {
		w = newWatcher(h, name)
		h.watchers[name] = w
		w.stay(atLeast)
		go w.watch()
		return w, nil
	}
	w.stay(atLeast)
	if i := slices.Index(h.finals, name); i >= 0 {
		h.finals = append(slices.Delete(h.finals, i, i+1), name)
	}
	return w, nil
}

// wake makes the watcher of a run look at once, because a command has changed the run.
func (h *Hub) wake(name string) {
	h.mu.Lock()
	w := h.watchers[name]
	h.mu.Unlock()
	if w != nil {
		w.hurry()
	}
}

// drop forgets a watcher.
func (h *Hub) drop(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[w.name] == w {
		delete(h.watchers, w.name)
		h.finals = slices.DeleteFunc(h.finals, func(name string) bool { return name == w.name })
	}
}

// dropIdle forgets a watcher that nobody reads, and reports whether it did.
func (h *Hub) dropIdle(w *watcher) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !w.idle() {
		return false
	}
	if h.watchers[w.name] == w {
		delete(h.watchers, w.name)
	}
	return true
}

// keep keeps the last frame of a run that is over. The oldest ones beyond keptFinal go, unless somebody reads them.
func (h *Hub) keep(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[w.name] != w {
		return
	}
	h.finals = append(h.finals, w.name)
	for i := 0; i < len(h.finals) && len(h.finals) > keptFinal; {
		if old := h.watchers[h.finals[i]]; old != nil && !old.idle() {
			i++
			continue
		}
		delete(h.watchers, h.finals[i])
		h.finals = slices.Delete(h.finals, i, i+1)
	}
}

// Runs returns all runs, oldest first.
func (h *Hub) Runs(ctx context.Context) ([]run.Entry, error) {
	client, err := h.connect(ctx)
	if err != nil {
		return nil, err
	}
	return run.List(ctx, client)
}

// Ledger returns all that the ledger of budgets has.
func (h *Hub) Ledger(ctx context.Context) (ledger.State, error) {
	client, err := h.connect(ctx)
	if err != nil {
		return ledger.State{}, err
	}
	return ledger.Ledger{Client: client}.List(ctx)
}

// open opens a run.
func (h *Hub) open(ctx context.Context, name string) (*run.Run, error) {
	client, err := h.connect(ctx)
	if err != nil {
		return nil, err
	}
	return run.Open(ctx, client, name)
}

// report returns the report of a run, as loadctl report makes it.
func (h *Hub) report(ctx context.Context, name string) (report.Report, error) {
	r, err := h.open(ctx, name)
	if err != nil {
		return report.Report{}, err
	}
	rep, err := results.Report(ctx, r)
	rep.Described.ReportedBy = h.program
	return rep, err
}

// Looks returns the newest look of each run that is not over, and of runs that ended in the last ten minutes. A run that
// cannot be read is missing. The looks are shared: do not change them.
func (h *Hub) Looks(ctx context.Context) ([]results.Look, error) {
	entries, err := h.Runs(ctx)
	if err != nil {
		return nil, err
	}
	looks := make([]*results.Look, len(entries))
	var all sync.WaitGroup
	for i, e := range entries {
		if !recent(e) {
			continue
		}
		all.Go(func() {
			w, err := h.watcher(ctx, e.Run, afterScrape)
			if err != nil {
				return
			}
			if seen, err := w.await(ctx); err == nil && !errors.Is(seen.err, run.ErrNoRun) {
				looks[i] = seen.look
			}
		})
	}
	all.Wait()
	var found []results.Look
	for _, l := range looks {
		if l != nil {
			found = append(found, *l)
		}
	}
	return found, nil
}

// recent tells whether a run is among the Looks.
func recent(e run.Entry) bool {
	switch e.Phase {
	case "waiting", "running", "paused":
		return true
	case "stopped", "ended":
		return time.Since(e.EndedAt) < lookedBack
	default: // it cannot be read
		return false
	}
}
