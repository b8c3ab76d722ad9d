package arcs

import "slices"

const (
	lead    = 600_000 // µs from the decision to give units up to the first slot that is not sent any more
	tight   = 200_000 // a release that would come later than this before its slot is decided anew
	catchUp = 100_000 // µs a slot may be late and is still sent
)

// An Ending is units that were given up: until when they are still this worker's, and under which promise.
type Ending struct {
	Seg
	End  Pos
	P    int64
	at   int64 // when End is due
	sent bool  // a server may know of it
	view int   // the first View that has it
}

// View is what the shards of a worker go by. A value is never changed.
type View struct {
	Version int
	Era     int64
	Laws    *Laws
	Held    Segs
	P       int64
	Ending  []Ending
	Without Without
}

// Worker is one incarnation of a worker, without its clock, its network and its shards.
type Worker struct {
	Name, Incarnation string
	Weight            int64
	Without           Without
	View              View

	seq     int64
	epoch   string
	call    *Call // not answered yet
	claim   bool  // the next call is one
	gone    []Release
	ticket  string
	leaving bool
	agreed  int // all shards go by this View or a later one
	Done    Status
	Wait    int64
}

// NewWorker is a worker that has heard nothing yet.
func NewWorker(name, incarnation string, weight int64) *Worker {
	return &Worker{Name: name, Incarnation: incarnation, Weight: weight, Wait: 100_000}
}

// Leave makes the worker give up all it has.
func (w *Worker) Leave() { w.leaving = true }

// Leaving tells whether it leaves.
func (w *Worker) Leaving() bool { return w.leaving }

// Waiting tells whether a call is not answered yet.
func (w *Worker) Waiting() bool { return w.call != nil }

// Call is the call to make now: the one before, unchanged, until it is answered.
func (w *Worker) Call() Call {
	if w.call != nil {
		return *w.call
	}
	w.seq++
	c := Call{Worker: w.Name, Incarnation: w.Incarnation, Seq: w.seq, Epoch: w.epoch, Weight: w.Weight, Laws: w.View.Laws, Leaving: w.leaving}
	if w.claim {
		c.Claim = &Claim{Held: w.View.Held, P: w.View.P, Era: w.View.Era, Gone: slices.Clone(w.gone), Ticket: w.ticket}
	} else {
		w.View.Ending = slices.Clone(w.View.Ending)
		for i := range w.View.Ending {
			e := &w.View.Ending[i]
			if e.sent || e.view > w.agreed && !w.Without.Agree {
				continue
			}
			e.sent = true
			x := Release{Lo: e.Lo, Hi: e.Hi, From: e.End, To: e.To, Epoch: w.epoch}
			c.Releases, w.gone = append(c.Releases, x), append(w.gone, x)
		}
	}
	w.call = &c
	return c
}

// Heard takes a reply. It returns true if the worker is to call again at once. The View may be another one then.
func (w *Worker) Heard(now int64, r Reply) (again bool) {
	if w.call == nil || r.Seq != w.call.Seq || r.Status == Stale {
		return false
	}
	call := w.call
	w.call = nil
	w.Wait = r.Wait
	switch r.Status {
	case MustClaim:
		w.claim = true
		w.reconsider()
		return true
	case NoState:
		w.claim = true
		w.reconsider()
		return false
	case Replaced, Gone:
		w.Done = r.Status
		w.View.Held = nil
		w.View.Version++
		return false
	}
	w.claim = false
	if w.View.Era != r.Era {
		w.View.Ending = nil // what is left of the era before is past
	}
	if w.epoch != r.Epoch {
		w.gone = nil // of the server before
	}
	w.epoch, w.View.Era, w.View.P = r.Epoch, r.Era, r.P
	w.View.Laws = merge(w.View.Laws, r.Laws)
	w.ticket = r.Ticket
	w.forget(now)
	w.View.Held = r.List.minus(w.promised(call))
	w.offer(now, r.Give)
	w.View.Version++
	return false
}

// promised is what is given up, and the server that was called could not know of.
func (w *Worker) promised(call *Call) (out Segs) {
	for _, e := range w.View.Ending {
		told := slices.ContainsFunc(call.Releases, func(x Release) bool { return x.Lo == e.Lo && x.Hi == e.Hi && x.From == e.End })
		if !told && !e.sent {
			out = out.plus(Segs{e.Seg}.minus(out))
		}
	}
	return out
}

// Learn takes laws that came in a message.
func (w *Worker) Learn(l *Laws) {
	if w.View.Laws == nil { // a part of a run would be taken for the whole
		return
	}
	if m := merge(w.View.Laws, l); m != w.View.Laws {
		w.View.Laws = m
		w.View.Version++
	}
}

// reconsider takes back what was to be given up and no server knows of.
func (w *Worker) reconsider() {
	var keep []Ending
	for _, e := range w.View.Ending {
		if e.sent {
			keep = append(keep, e)
		} else {
			w.View.Held = w.View.Held.plus(Segs{e.Seg})
		}
	}
	if len(keep) != len(w.View.Ending) {
		w.View.Ending = keep
		w.View.Version++
	}
}

// offer decides from which slot on units are given up.
func (w *Worker) offer(now int64, give Segs) {
	for _, g := range give {
		in, out := w.View.Held.split(Segs{g})
		w.View.Held = out
		at := now + lead
		for _, s := range in {
			s.To = g.To
			end := later(w.View.Laws.Pos(at, w.View.Era), s.From)
			w.View.Ending = append(slices.Clip(w.View.Ending), Ending{Seg: s, End: end, P: w.View.P, at: at, view: w.View.Version + 1})
		}
	}
}

// Agreed is told when all shards go by a View or a later one, none of them having passed the time reached before. Then what is given up in it
// can be released; where a shard may be beyond the first slot, or that is near, another one is chosen. It returns true if there is a release.
func (w *Worker) Agreed(version int, now, reached int64) (release bool) {
	w.agreed = max(w.agreed, version)
	w.View.Ending = slices.Clone(w.View.Ending)
	for i := range w.View.Ending {
		e := &w.View.Ending[i]
		switch {
		case e.sent || e.view > w.agreed:
		case e.at-tight < max(now, reached):
			e.at = now + lead
			e.End = later(e.End, w.View.Laws.Pos(e.at, w.View.Era))
			e.view = w.View.Version + 1
		default:
			release = true
		}
	}
	for _, e := range w.View.Ending {
		if e.view > w.View.Version {
			w.View.Version = e.view
		}
	}
	return release
}

// forget drops pieces given up whose last slot is long over.
func (w *Worker) forget(now int64) {
	w.View.Ending = slices.DeleteFunc(slices.Clone(w.View.Ending), func(e Ending) bool { return e.sent && max(e.at, 0)+1_000_000 < now })
}

// Free tells whether nothing of the worker's is left to send.
func (w *Worker) Free(now int64) bool {
	for _, e := range w.View.Ending {
		if now <= e.at {
			return false
		}
	}
	return true
}
