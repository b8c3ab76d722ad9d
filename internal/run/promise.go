package run

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// The states of a member as lua/state.lua has them.
const (
	oldMember int64 = iota
	presentMember
	leftMember
	haltedMember
	lostMember
	removedMember
	replacedMember
)

// standing is what there is stored of a member.
type standing struct {
	state   int64
	leaving int64 // 1 = it hands over what it holds
	seen    int64 // when who is not there was heard of last, µs
	holds   bool  // anything
}

// What a promise is left alone for after it, how much longer the stored state may be wrong by, and how long who has handed over what it held may send.
const (
	promiseGrace  = 50 * time.Millisecond
	promiseMargin = time.Second
	handOver      = 2 * time.Second
)

// member works out when a worker was heard of last, what has become of it, and until when it may send by itself.
func (a *reading) member(w *Worker, m standing) {
	hold, period := time.Duration(a.core["hold"])*time.Microsecond, a.every
	due, present := a.silent[w.ID]
	switch {
	case m.state != presentMember:
		w.LastSeen = instant(m.seen)
	case present: // else the state is damaged, and nothing was promised
		heard := instant(due).Add(-hold - promiseGrace)
		if early := instant(due).Add(-3*time.Second - 2*period); !m.holds && early.After(heard) {
			heard = early
		}
		w.LastSeen = heard
	}
	silent := a.now.Sub(w.LastSeen)
	switch m.state {
	case presentMember:
		switch {
		case m.leaving > 0 && !m.holds: // it is only believed to be there as long as others may say what it held
			a.Members = max(0, a.Members-1)
			w.State, w.promised = "left", w.LastSeen.Add(handOver)
			return
		case !a.EndedAt.IsZero() || silent <= 3*period+unnoticed:
			w.State = "active"
		case silent <= hold:
			w.State = "silent"
		default:
			w.State = "lost"
		}
		if w.promised = w.LastSeen.Add(hold); m.holds || a.loop {
			w.PromisedUntil = w.promised
		}
	case oldMember: // a former server may have promised it something until this one was first called
		w.promised = w.LastSeen.Add(hold)
		if tf := instant(a.core["tf"]).Add(hold); a.core["quiet"] > 0 && tf.After(w.promised) {
			w.promised = tf
		}
		if w.State = "lost"; a.now.UnixMicro() < a.core["quiet"] {
			w.State, w.PromisedUntil = "silent", w.promised
		}
	case leftMember:
		w.State, w.promised = "left", w.LastSeen.Add(handOver)
	case haltedMember:
		if w.State = "left"; a.Phase == "stopped" && !w.LastSeen.Before(a.EndedAt) {
			w.State = "stopped"
		}
	case lostMember:
		w.State, w.promised = "lost", w.LastSeen.Add(hold)
	case removedMember:
		w.State = "removed"
	case replacedMember:
		w.State = "replaced"
	}
}

// kind is how far apart the scores of the kinds of loose pieces begin; unknown pieces are the second kind, see lua/segs.lua.
const kind = 33554432

// unheard finds out until when workers may be sending of whom this server does not know: while pieces are unknown, somebody may hold them.
func (a *reading) unheard(loose []redis.Z) {
	if a.now.UnixMicro() >= a.core["quiet"] {
		return
	}
	for _, z := range loose {
		if z.Score >= kind && z.Score < 2*kind {
			a.unclaimed = instant(a.core["quiet"]).Add(-promiseMargin)
			return
		}
	}
}

// waitsFor are the members that have not confirmed the stop and may send by what they were promised, with the lateness that the spec allows. unsure are
// those for whom nobody can wait.
func (s *State) waitsFor(spec Spec) (those []Worker, unsure []string) {
	lateness := max(spec.MaxLag, spec.CatchUp)
	for _, w := range s.Workers {
		switch {
		case s.now.After(w.promised.Add(lateness)): // also who is not promised anything
		case spec.Permit() >= withoutEnd && w.State != "left" && s.now.Sub(w.LastSeen) > promiseSilence+lateness:
			unsure = append(unsure, w.ID)
		default:
			those = append(those, w)
		}
	}
	return those, unsure
}

// promiseSilence is how long a member may be silent that is waited for although its promise has no end.
const promiseSilence = 3 * time.Second
