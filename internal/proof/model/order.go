package model

import (
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// remembered is the number of answers that are kept.
const remembered = 16

// An Order is a command of a controller. It is carried out once, even if it is repeated.
type Order struct {
	ID       string
	Kind     string // those of Command; scale; cap; touch: a controller is there; deadman: it also sets the dead-man's switch
	Pieces   []pacer.Piece
	Factor   int64 // of scale: the part of the plan's rates that is sent, millionths, 1 … 1,000,000; of cap: the most that it may be
	Silence  int64 // of deadman, µs
	Expected int64 // the last law of a command when it was worked out; 0 = any
}

// An Answer to an Order: OK, SAME (it was so already), WAITING (for the start), RETRY (another command came in
// between), RESERVE (the run has no right to send so much), FROZEN (nobody may send at its endpoint) or ENDED.
type Answer struct {
	ID, Status string
	T0, Law    int64 // since when it is in force, 0 = it was already, or with RESERVE the rate; the last law of a command
}

// Order carries out a command, once.
func (r *Run) Order(now int64, o Order) Answer {
	for _, a := range r.answers {
		if a.ID == o.ID {
			return a
		}
	}
	if r.laws == nil && (o.Kind == "pause" || o.Kind == "resume") {
		return Answer{ID: o.ID, Status: "WAITING"}
	}
	r.changed = false
	r.advance(now)
	r.controllerAt = r.now
	a := Answer{ID: o.ID, Status: "SAME"}
	if o.Kind == "deadman" && !r.ended(now) {
		r.Deadman = o.Silence
	}
	switch {
	case o.Kind == "touch" || o.Kind == "deadman":
	case o.Expected > 0 && o.Expected != r.command:
		a.Status = "RETRY"
	default:
		if a.Status, a.T0 = r.refused(o); a.Status == "" {
			a.T0, a.Status = r.act(o)
		}
		if o.Kind == "pause" && r.frozen == pausedByFreeze {
			r.frozen = isFrozen // the end of the freeze does not resume it
		}
	}
	if r.reweigh(); o.Kind != "touch" && o.Kind != "deadman" {
		r.weigh()
	}
	a.Law = r.command
	if a.Status == "OK" || a.Status == "SAME" && o.Kind != "touch" && o.Kind != "deadman" {
		r.answers = append(r.answers, a)
		r.answers = r.answers[max(0, len(r.answers)-remembered):]
	}
	return a
}

// ended reports whether nothing is asked for any more, even if no call has noted it yet.
func (r *Run) ended(now int64) bool {
	if r.laws == nil {
		return false
	}
	n := r.laws.Newest()
	if n.Phase != lease.Running {
		return n.Phase >= lease.Stopped && n.T0 <= now
	}
	return n.End <= now || n.Stop > 0 && n.Stop <= now
}
