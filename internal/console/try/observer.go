package try

import "github.com/loadctl/loadctl/targets"

// An observer is the Watcher of one request at a time. It wants to see everything.
type observer struct {
	phases phases
	hops   []hop // redirects so far
	from   int64 // when the last of these had ended; 0 = there was none
}

// phases are what an engine tells of connections, ns.
type phases struct {
	took   [targets.PhaseClosed]int64
	closed bool // the server closed the connection
}

// A hop is a redirect.
type hop struct {
	result targets.Result
	phases phases
	from   int64 // when it began
}

// reset forgets the request before.
func (w *observer) reset() { *w = observer{} }

// Worth implements targets.Watcher.
func (w *observer) Worth(*targets.Result) bool { return true }

// Holds implements targets.Watcher.
func (w *observer) Holds(*targets.Result) int64 { return 0 }

// Phase implements targets.Watcher.
func (w *observer) Phase(p targets.Phase, took int64) {
	if p == targets.PhaseClosed {
		w.phases.closed = true
		return
	}
	w.phases.took[p] += took
}

// Followed implements targets.Follower.
func (w *observer) Followed(r targets.Result) {
	w.hops = append(w.hops, w.last(r))
	w.phases, w.from = phases{}, r.Done
}

// last returns what is known of the request that r ends, or of a redirect.
func (w *observer) last(r targets.Result) hop {
	h := hop{r, w.phases, w.from}
	if h.from == 0 {
		h.from = r.Sent
	}
	return h
}
