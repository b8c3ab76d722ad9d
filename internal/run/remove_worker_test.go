package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// TestRemoveWorker: the share of one that is said to be dead goes to the others at once.
func TestRemoveWorker(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", losing(LossPermit, time.Minute, 0), Options{})
		other, dead := b.member(r, "a"), b.member(r, "b")
		dead.lease()
		other.start()
		dead.lease() // with the second reply comes a permit, as soon as the other has given up a part of its own
		b.until("the permits", func() bool { other.lease(); dead.lease(); return b.state(r).Workers[1].Permit > 0 })
		b.until("its silence", func() bool {
			time.Sleep(10 * time.Millisecond)
			other.lease()
			s := b.state(r)
			return s.now.Sub(s.Workers[1].LastSeen) > s.missed()
		})
		if s := b.state(r); s.Workers[1].State != "suspect" || s.Workers[1].Permit == 0 || s.Members != 2 {
			t.Errorf("%+v", s)
		}
		before, err := r.Remove(t.Context(), "b", false)
		if err != nil || before.State != "suspect" || before.Gone() {
			t.Errorf("%+v, %v", before, err)
		}
		reply := other.lease()
		if s := b.state(r); reply.Members != 1 || s.Members != 1 || s.Workers[1].State != "removed" || s.Workers[1].Permit != 0 {
			t.Errorf("%+v, %+v", reply, s)
		}
		events, err := r.Events(t.Context(), 1)
		if err != nil || len(events) != 1 || events[0].Kind != "removed" || events[0].Who != "b" || events[0].What != "by "+Who() {
			t.Errorf("%+v, %v", events, err)
		}
		// Saying it again changes nothing.
		if before, err = r.Remove(t.Context(), "b", false); err != nil || !before.Gone() || before.State != "removed" {
			t.Errorf("%+v, %v", before, err)
		}
		if again := b.events(r); strings.Count(again, "removed") != 1 {
			t.Error(again)
		}
	})
}

func TestRemoveWorkerThatLives(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		m := b.member(r, "w").start()
		m.lease()
		_, err := r.Remove(t.Context(), "w", false)
		b.wants(err, ErrAlive, "remove worker w of run x: it may be alive: heard of 0.", " s ago; if it is dead, try again in a second, or --force")
		if s := b.state(r); s.Members != 1 {
			t.Errorf("%+v", s)
		}
		if _, err := r.Remove(t.Context(), "w", true); err != nil {
			t.Fatal(err)
		}
		if s := b.state(r); s.Members != 0 || s.Workers[0].State != "removed" {
			t.Errorf("%+v", s)
		}
		b.until("its return", func() bool { return m.lease().Status == pacer.StatusOK && b.state(r).Members == 1 })
	})
}

// TestSilent: who calls seldom, because its fleet is large, is taken to be alive for longer.
func TestSilent(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	b := &bed{T: t}
	for _, c := range []struct {
		members int64
		ago     time.Duration
		says    string // "" = it may be removed
	}{
		{1, 999 * time.Millisecond, "it may be alive: heard of 1.0 s ago; if it is dead, try again in a second"},
		{1, time.Second, ""},
		{3000, time.Second, ""},
		{10_001, time.Second, "it may be alive: heard of 1.0 s ago; if it is dead, try again in 4 s"},
		{10_001, 3 * time.Second, "heard of 3.0 s ago"},
		{10_001, 3001 * time.Millisecond, ""},
		{100_000, 29 * time.Second, "try again in 30 s"},
		{100_000, 30 * time.Second, ""},
	} {
		s := &State{Members: c.members, qmax: pacer.DefaultQmax, now: now}
		err := s.silent(Worker{LastSeen: now.Add(-c.ago)})
		if c.says != "" {
			b.wants(err, ErrAlive, c.says)
		} else if err != nil {
			t.Errorf("one of %d, heard of %v ago: %v", c.members, c.ago, err)
		}
	}
}

func TestRemoveWorkersThereAreNot(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		_, err := r.Remove(t.Context(), "w", true)
		b.wants(err, ErrNoWorker, "remove worker w of run x: there is no such worker; none has joined yet")
		var ids []string
		for i := range namesAtOnce {
			ids = append(ids, fmt.Sprint("w", i))
			b.member(r, ids[i]).lease()
		}
		_, err = r.Remove(t.Context(), "w", true)
		b.wants(err, ErrNoWorker, "; there are "+strings.Join(ids, ", "))
		b.member(r, "y").lease()
		b.member(r, "z").lease()
		_, err = r.Remove(t.Context(), "w", true)
		b.wants(err, ErrNoWorker, "there are "+strings.Join(ids, ", ")+" and 2 more")
		if err := r.Journal("w3", "incw3").Leave(t.Context(), "left"); err != nil {
			t.Fatal(err)
		}
		if before, err := r.Remove(t.Context(), "w3", false); err != nil || before.State != "left" {
			t.Errorf("%+v, %v", before, err)
		}
		b.client.FlushDB(t.Context())
		_, err = r.Remove(t.Context(), "y", true)
		b.wants(err, ErrNoRun)
	})
}

// TestRemoveIsOfTheNewestProcess: the one whose id another has taken is gone already.
func TestRemoveIsOfTheNewestProcess(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), Options{})
		b.member(r, "w").lease()
		newer := b.member(r, "w")
		newer.ask.Incarnation = "newer"
		newer.lease()
		if before, err := r.Remove(t.Context(), "w", true); err != nil || before.Incarnation != "newer" {
			t.Errorf("%+v, %v", before, err)
		}
		if s := b.state(r); s.Members != 0 || s.Workers[0].State != "replaced" || s.Workers[1].State != "removed" {
			t.Errorf("%+v", s.Workers)
		}
	})
}
