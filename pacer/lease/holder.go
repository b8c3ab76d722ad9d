package lease

import (
	"slices"

	"github.com/loadctl/loadctl/pacer/circle"
)

// The times of a release.
const (
	releaseLead = 600_000    // µs from the decision to give a range up to the first slot that is not sent any more
	keepLaws    = 10_000_000 // µs that a law is remembered after its end
	minLead     = 200_000    // µs; a release that would come later than this before its slot gets a later slot
)

// An Ending is a range that was given up: the first slot that the worker does not send any more, and the lease it
// is under.
type Ending struct {
	Range
	End  Pos
	P    int64 // µs
	id   int   // 1, 2, …
	at   int64 // when End is due, µs
	sent bool  // a server may know of it
	view int   // the first View that has it
}

// View is what the shards of a worker go by. It is never changed after it is handed out.
type View struct {
	Version    int // 1, 2, …
	ClockEpoch int64
	Laws       *Laws
	Held       Ranges
	Now        int64 // when the server made it, µs: a law that is not known ends no other law before that
	P          int64 // Held is leased until P, µs
	Ending     []Ending
	Handed     bool // the fleet has all that a leaving worker gave up: no later View has other slots than Ending
}

// Holder is one incarnation of a worker in the protocol, without its clock, its network and its shards. One goroutine
// uses it.
type Holder struct {
	worker, incarnation string
	weight              int64
	view                View
	seq                 int64
	epoch               string
	known               int64  // newest law of all replies
	list                Ranges // of the last reply that had one
	version             int64  // of list
	call                *Call  // the call that is not answered yet; nil = none
	claim               bool   // the next call is a claim
	leaving             Leaving
	last                Pos // after Halt: from here on nothing is sent
	agreed              int // all shards go by the View of this version or a later one
	given               int // number of ranges given up
}

// NewHolder returns a worker that has received no reply yet.
func NewHolder(worker, incarnation string, weight int64) *Holder {
	return &Holder{worker: worker, incarnation: incarnation, weight: weight}
}

// View returns what the shards must go by now.
func (h *Holder) View() View { return h.view }

// Leave makes the worker give up all it has.
func (h *Holder) Leave() { h.leaving = max(h.leaving, Leaves) }

// Halt ends the worker's part in the run at once. Its shards have sent nothing that is due at reached or later, and
// send nothing any more. The next call is a new one that says so. It gives up the whole circle.
func (h *Holder) Halt(reached int64) {
	h.leaving, h.call, h.last = Halted, nil, h.view.Laws.Pos(reached)
	h.takeBack()
}

// Waiting reports whether a call is not answered yet.
func (h *Holder) Waiting() bool { return h.call != nil }

// Call returns the call to make now. It is the same call until that is answered.
func (h *Holder) Call() Call {
	if h.call != nil {
		return *h.call
	}
	h.seq++
	c := Call{Worker: h.worker, Incarnation: h.incarnation, Seq: h.seq, Epoch: h.epoch, Weight: h.weight,
		Known: h.known, Laws: h.view.Laws.Since(h.known), Leaving: h.leaving, Version: h.version}
	if h.claim {
		c.Known, c.Version = 0, 0
		c.Claim, c.Laws = &Claim{Held: h.view.Held, P: h.view.P, ClockEpoch: h.view.ClockEpoch}, h.view.Laws.All()
	} else {
		if h.leaving == Halted {
			c.Releases = Ranges{{Lo: 0, Hi: circle.Units, From: h.last}}
		}
		h.view.Ending = slices.Clone(h.view.Ending)
		for i := range h.view.Ending {
			e := &h.view.Ending[i]
			if h.leaving == Halted || e.sent || e.view > h.agreed {
				continue
			}
			e.sent = true
			c.Releases = append(c.Releases, Range{Lo: e.Lo, Hi: e.Hi, From: e.End})
		}
	}
	h.call = &c
	return c
}

// Receive takes a reply, and may change the View. It reports whether the worker must call again at once.
func (h *Holder) Receive(now int64, r Reply) (again bool) {
	if h.call == nil || r.Seq != h.call.Seq || r.Status == Stale {
		return false
	}
	call, list := h.call, h.list
	h.call = nil
	switch r.Status {
	case MustClaim, NoState:
		h.claim = true
		h.takeBack()
		return r.Status == MustClaim
	case Replaced, Gone:
		if h.leaving == Halted { // what is due before was its own
			for _, s := range h.view.Held {
				h.given++
				h.view.Ending = append(slices.Clip(h.view.Ending), Ending{Range: s, id: h.given, End: Later(h.last, s.From), P: h.view.P, sent: true})
			}
		}
		h.view.Held = nil
		h.view.Laws = h.view.Laws.With(r.Laws...)
		h.view.Version++
		return false
	}
	h.claim = false
	until := max(h.view.P, r.P) // where the right of the run ends soon, a reply leases for less than the one before
	if h.view.ClockEpoch != r.ClockEpoch {
		h.view.Ending, until = nil, r.P // what is left of the clock epoch before is past
	}
	before := min(h.view.Now, r.Now)
	h.epoch, h.view.ClockEpoch, h.view.Now, h.view.P = r.Epoch, r.ClockEpoch, r.Now, until
	// Laws in force since the last reply stay, and so do those that end by the new ones: shards have come to their slots.
	h.view.Laws = h.view.Laws.Trim(before - keepLaws).With(r.Laws...).In(r.ClockEpoch)
	if h.known = call.Known; len(r.Laws) > 0 {
		h.known = r.Laws[len(r.Laws)-1].ID
	}
	h.dropOld(now)
	if h.list, h.version = r.List, r.Version; r.Version == call.Version {
		h.list = list
	}
	h.lapse()
	h.view.Held = h.list.Minus(h.unreported(call))
	h.giveUp(now, r.Give)
	h.view.Handed = call.Leaving == Leaves && len(h.view.Held) == 0 && !slices.ContainsFunc(h.view.Ending, func(e Ending) bool { return !e.sent })
	h.view.Version++
	return false
}

// lapse forgets ranges that were to be given up and that the server has freed itself, as their lease had ended. A claim
// must not take them back. If the server has given one to this worker again, it is held like any other.
func (h *Holder) lapse() {
	h.view.Ending = slices.DeleteFunc(slices.Clone(h.view.Ending), func(e Ending) bool {
		return !e.sent && !slices.ContainsFunc(h.list, func(s Range) bool { return s.Lo <= e.Lo && e.Hi <= s.Hi && s.From == e.From })
	})
}

// unreported returns the ranges given up that the called server could not know of.
func (h *Holder) unreported(call *Call) (out Ranges) {
	for _, e := range h.view.Ending {
		reported := slices.ContainsFunc(call.Releases, func(x Range) bool { return x.Lo == e.Lo && x.Hi == e.Hi && x.From == e.End })
		if !reported && !e.sent {
			out = out.Plus(Ranges{e.Range}.Minus(out))
		}
	}
	return out
}

// Learn takes the laws of a message. If a law between them and the known ones is missing, it takes none. The next
// call brings all.
func (h *Holder) Learn(laws []Law) {
	l := h.view.Laws.With(laws...)
	linked := func(x Law) bool { return h.view.Laws.Live(x.ID) && l.Live(x.ID) }
	if l != h.view.Laws && slices.ContainsFunc(h.view.Laws.All(), linked) {
		h.view.Laws = l
		h.view.Version++
	}
}

// takeBack keeps the ranges that were to be given up and that no server knows of.
func (h *Holder) takeBack() {
	var keep []Ending
	for _, e := range h.view.Ending {
		if e.sent {
			keep = append(keep, e)
		} else {
			h.view.Held = h.view.Held.Plus(Ranges{e.Range})
		}
	}
	if len(keep) != len(h.view.Ending) {
		h.view.Ending = keep
		h.view.Version++
	}
}

// giveUp chooses from which slot on ranges are given up.
func (h *Holder) giveUp(now int64, give Ranges) {
	for _, g := range give {
		in, out := h.view.Held.Split(Ranges{g})
		h.view.Held = out
		at := now + releaseLead
		for _, s := range in {
			end := Later(h.view.Laws.Pos(at), s.From)
			h.given++
			h.view.Ending = append(slices.Clip(h.view.Ending), Ending{Range: s, id: h.given, End: end, P: h.view.P, at: at, view: h.view.Version + 1})
		}
	}
}

// Agreed notes that all shards go by this View or a later one, and how far they have looked. It reports whether a
// range can be released. If a range's end is too near, it chooses a later one.
func (h *Holder) Agreed(version int, now, reached int64) (release bool) {
	h.agreed = max(h.agreed, version)
	h.view.Ending = slices.Clone(h.view.Ending)
	moved := false
	for i := range h.view.Ending {
		e := &h.view.Ending[i]
		switch {
		case e.sent || e.view > h.agreed:
		case e.at-minLead < max(now, reached):
			// The shards may have looked far ahead, by a clock that was corrected since.
			e.at = max(now+releaseLead, reached+minLead)
			e.End = Later(e.End, h.view.Laws.Pos(e.at))
			e.view, moved = h.view.Version+1, true
		default:
			release = true
		}
	}
	if moved {
		h.view.Version++
	}
	return release
}

// dropOld forgets ranges given up whose last slot was due long ago.
func (h *Holder) dropOld(now int64) {
	h.view.Ending = slices.DeleteFunc(slices.Clone(h.view.Ending), func(e Ending) bool { return e.sent && e.at+1_000_000 < now })
}
