package run

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/lua"
)

// The states of a member (lua/state.lua).
const (
	oldMember int64 = iota
	presentMember
	leftMember
	haltedMember
	lostMember
	removedMember
	replacedMember
)

// standing is the stored state of a member.
type standing struct {
	state   int64
	leaving int64 // 1 = it hands over what it holds
	seen    int64 // when a departed member last called, µs
	holds   bool  // it holds a range
}

// Times after a lease.
const (
	leaseGrace  = 50 * time.Millisecond // how long a range is left alone
	leaseMargin = time.Second           // by how much the stored state may be wrong
	handOver    = 2 * time.Second       // how long a worker that has handed over may send
)

// member computes when a worker last called, its state, and until when it may send by itself.
func (a *reading) member(w *Worker, m standing) {
	hold, period := time.Duration(a.core["hold"])*time.Microsecond, a.every
	due, present := a.silent[w.ID]
	switch {
	case m.state != presentMember:
		w.LastSeen = TimeOf(m.seen)
	case present: // else the state is damaged, and nothing was leased
		called := TimeOf(due).Add(-hold - leaseGrace)
		if early := TimeOf(due).Add(-3*time.Second - 2*period); !m.holds && early.After(called) {
			called = early
		}
		w.LastSeen = called
	}
	silent := a.now.Sub(w.LastSeen)
	switch m.state {
	case presentMember:
		switch {
		case m.leaving > 0 && !m.holds: // it has handed over, and sends up to there
			a.Members = max(0, a.Members-1)
			w.State, w.leaseEnd = "left", w.LastSeen.Add(handOver)
			return
		case !a.EndedAt.IsZero() || silent <= 3*period+unnoticed:
			w.State = "active"
		case silent <= hold:
			w.State = "silent"
		default:
			w.State = "lost"
		}
		if w.leaseEnd = w.LastSeen.Add(hold); m.holds || a.loop {
			w.LeaseUntil = w.leaseEnd
		}
	case oldMember: // a former server may have leased it something until this one was first called
		w.leaseEnd = w.LastSeen.Add(hold)
		if tf := TimeOf(a.core["tf"]).Add(hold); a.core["grace"] > 0 && tf.After(w.leaseEnd) {
			w.leaseEnd = tf
		}
		if w.State = "lost"; a.now.UnixMicro() < a.core["grace"] {
			w.State, w.LeaseUntil = "silent", w.leaseEnd
		}
	case leftMember, haltedMember:
		if w.State = "left"; a.Phase == "stopped" && !w.LastSeen.Before(a.EndedAt) {
			w.State = "stopped"
		}
	case lostMember:
		w.State, w.leaseEnd = "lost", w.LastSeen.Add(hold)
	case removedMember:
		w.State = "removed"
	case replacedMember:
		w.State = "replaced"
	}
}

// findUnclaimed finds out until when workers unknown to this server may send. While ranges are unknown, somebody may
// hold them.
func (a *reading) findUnclaimed(unowned []redis.Z) {
	if a.now.UnixMicro() >= a.core["grace"] {
		return
	}
	for _, z := range unowned {
		if z.Score >= lua.UnownedKind && z.Score < 2*lua.UnownedKind {
			a.unclaimed = TimeOf(a.core["grace"]).Add(-leaseMargin)
			return
		}
	}
}

// waitsFor returns the members that have not confirmed the stop and may still send by their lease, with the
// lateness that the spec allows. unsure are those whose lease has no end.
func (s *State) waitsFor(asked spec.Spec) (those []Worker, unsure []string) {
	lateness := max(asked.MaxLag, asked.CatchUp)
	for _, w := range s.Workers {
		switch {
		case s.now.After(w.leaseEnd.Add(lateness)): // also a member without a lease
		case asked.Permit() >= spec.HoldLease && w.State != "left" && s.now.Sub(w.LastSeen) > leaseSilence+lateness:
			unsure = append(unsure, w.ID)
		default:
			those = append(those, w)
		}
	}
	return those, unsure
}

// leaseSilence is how long to wait for a silent member whose lease has no end.
const leaseSilence = 3 * time.Second
