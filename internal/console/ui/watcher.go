package ui

import (
	"context"
	"errors"
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report/samples"
)

// lookPatience is how long one look may take: a server that hangs must not look like a run without news.
const lookPatience = 5 * time.Second

// retry is the time between two tries when Redis does not answer.
const retry = time.Second

// lagging is how many messages may wait for a page. One that lags more is cut off; it connects again, and gets a whole
// frame. Messages are shared by all pages, so a page that lags costs this many pointers.
const lagging = 8

// A message is what pages are sent.
type message struct {
	event string // frame, trouble, gone or end
	data  []byte
}

// A sight is what a watcher knows of its run. It is never changed.
type sight struct {
	look  *results.Look // nil = nothing was read yet
	frame Frame
	whole func() ([]byte, error) // the whole frame, encoded once if somebody wants it
	err   error                  // why the newest look failed; nil = it did not
	over  bool                   // no more will come
}

// A watcher looks at one run once a second, for all who want to see it.
type watcher struct {
	hub  *Hub
	name string
	soon chan struct{} // look at once
	seed maphash.Seed

	samples cached[samples.Set] // of all pages

	// Of the goroutine of watch alone.
	live *results.Live
	had  prints

	mu     sync.Mutex
	uid    string // of the run that is watched; "" = it is not known yet
	seen   sight
	first  chan struct{} // closed when something is seen
	pages  map[*reader]bool
	needed time.Time // until then it goes on without pages
}

// A reader is a page that receives what changes. Its channel is closed when it lags, or when no more will come.
type reader struct{ messages chan message }

func newWatcher(h *Hub, name string) *watcher {
	w := &watcher{hub: h, name: name, soon: make(chan struct{}, 1), seed: maphash.MakeSeed(), first: make(chan struct{}), pages: map[*reader]bool{}}
	w.samples.load, w.samples.keep = w.readSamples, keptSamples
	return w
}

// stay makes the watcher go on for at least this long.
func (w *watcher) stay(atLeast time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := time.Now().Add(atLeast); t.After(w.needed) {
		w.needed = t
	}
}

// idle tells whether nobody needs the watcher any more.
func (w *watcher) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.pages) == 0 && time.Now().After(w.needed)
}

// hurry makes the watcher look at once.
func (w *watcher) hurry() {
	select {
	case w.soon <- struct{}{}:
	default: // it is about to look
	}
}

// replaced tells whether the last frame that is kept is of a run that Redis does not have any more. Without an answer
// of Redis the frame is the best there is.
func (w *watcher) replaced(ctx context.Context) bool {
	w.mu.Lock()
	uid, over := w.uid, w.seen.over
	w.mu.Unlock()
	if !over {
		return false
	}
	r, err := w.hub.open(ctx, w.name)
	return errors.Is(err, run.ErrNoRun) || err == nil && r.UID != uid
}

// await returns what is seen, when something is.
func (w *watcher) await(ctx context.Context) (sight, error) {
	select {
	case <-w.first:
	case <-ctx.Done():
		return sight{}, context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen, nil
}

// join adds a page, and returns what is seen now: the page's messages follow it without a hole.
func (w *watcher) join() (*reader, sight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &reader{make(chan message, lagging)}
	if w.seen.over {
		close(p.messages)
	} else {
		w.pages[p] = true
	}
	return p, w.seen
}

// leave removes a page.
func (w *watcher) leave(p *reader) {
	w.stay(w.hub.linger)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pages, p)
}

// watch looks at the run until it is over or gone, or nobody wants to see it.
func (w *watcher) watch() {
	for {
		wait, over := w.look()
		if over || w.hub.dropIdle(w) {
			return
		}
		select {
		case <-time.After(wait):
		case <-w.soon:
		case <-w.hub.ctx.Done():
			return
		}
	}
}

// look looks once, tells the pages, and returns when to look again.
func (w *watcher) look() (wait time.Duration, over bool) {
	ctx, cancel := context.WithTimeout(w.hub.ctx, lookPatience)
	defer cancel()
	l, err := w.read(ctx)
	switch {
	case w.hub.ctx.Err() != nil:
		return 0, true
	case errors.Is(err, run.ErrNoRun):
		w.hub.drop(w)
		w.pass(sight{err: err, over: true}, message{event: "gone", data: []byte("{}")})
		return 0, true
	case err != nil:
		w.trouble(err)
		return retry, false
	}
	if err := w.publish(l); err != nil {
		w.trouble(err)
		return retry, false
	}
	if l.Settled {
		w.hub.keep(w)
	}
	return max(l.Next, settling), l.Settled
}

// settling is the shortest time between two looks.
const settling = 100 * time.Millisecond

// read reads the run. If another run has taken its name, it goes on with that one.
func (w *watcher) read(ctx context.Context) (results.Look, error) {
	if w.live != nil {
		l, err := w.live.Look(ctx)
		if !errors.Is(err, run.ErrNoRun) {
			return l, err
		}
	}
	r, err := w.hub.open(ctx, w.name)
	if err != nil {
		return results.Look{}, err
	}
	w.live, w.had = results.NewLive(r), prints{}
	w.mu.Lock()
	w.uid = r.UID
	w.mu.Unlock()
	return w.live.Look(ctx)
}

// publish tells the pages what is new.
func (w *watcher) publish(l results.Look) error {
	l.Pulses = maps.Clone(l.Pulses) // the next look writes into them
	l.Report.Described.ReportedBy = w.hub.program
	f := NewFrame(l, w.hub.control)
	now, err := fingerprint(w.seed, f)
	if err != nil {
		return err
	}
	data, err := encode(f.since(w.had, now))
	if err != nil {
		return err
	}
	w.had = now
	s := sight{look: &l, frame: f, over: l.Settled, whole: sync.OnceValues(func() ([]byte, error) { return encode(f) })}
	messages := []message{{"frame", data}}
	if l.Settled {
		messages = append(messages, message{"end", []byte("{}")})
	}
	w.pass(s, messages...)
	return nil
}

// trouble tells the pages once that Redis does not answer. What was seen stays.
func (w *watcher) trouble(err error) {
	w.mu.Lock()
	s := w.seen
	w.mu.Unlock()
	told := s.err != nil
	s.err = err
	if told {
		w.pass(s)
		return
	}
	w.pass(s, troubled(err))
}

// troubled is the message of an error.
func troubled(err error) message {
	data, encoding := encode(failure{Error: oneLine(err)})
	if encoding != nil {
		data = []byte(`{"error":"Redis does not answer"}`)
	}
	return message{"trouble", data}
}

// pass keeps what is seen, and passes messages to all pages. It never waits for one.
func (w *watcher) pass(s sight, messages ...message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = s
	select {
	case <-w.first:
	default:
		close(w.first)
	}
	for p := range w.pages {
		for _, m := range messages {
			select {
			case p.messages <- m:
				continue
			default:
			}
			delete(w.pages, p)
			close(p.messages)
			break
		}
		if s.over && w.pages[p] {
			delete(w.pages, p)
			close(p.messages)
		}
	}
}
