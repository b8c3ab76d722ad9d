package run

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
)

// never is longer than a test takes, and than Redis keeps the word of a stop.
const never = stoppedFor + time.Hour

// lastEvent returns when the newest event happened, by the clock of Redis.
func (b *bed) lastEvent(r *Run) time.Time {
	b.Helper()
	last, err := r.Events(b.Context(), 1)
	if err != nil || len(last) != 1 {
		b.Fatalf("%+v, %v", last, err)
	}
	return last[0].At
}

// lostRun returns a run of two members that Redis has lost, and what the members know of it.
func (b *bed) lostRun(permitFor time.Duration) (r *Run, members []*member, started int64, laws []lease.Law) {
	b.Helper()
	s := constant(1000)
	s.PermitFor, s.Duration, s.MinWorkers = permitFor, time.Minute, 2
	r, _ = b.create("r", s, Options{})
	members = []*member{b.member(r, "v"), b.member(r, "w")}
	members[0].renew()
	members[1].start()
	await.True(b, "some slots of both", func() bool {
		for _, m := range members {
			m.renew()
		}
		return members[0].owned() > 100 && members[1].owned() > 100
	})
	started, laws = b.known(r, members[1])
	members[0].renew()
	b.lose()
	for _, m := range members {
		m.renew()
	}
	return r, members, started, laws
}

// TestCommandsToARestoredRun: a command to a restored run takes effect as on any run, also for workers that come back
// later. Their leases stay.
func TestCommandsToARestoredRun(t *testing.T) {
	for name, command := range map[string]func(b *bed, r *Run) Change{
		"pause":     func(b *bed, r *Run) Change { return b.must(r.Pause(b.Context())) },
		"rate down": func(b *bed, r *Run) Change { return b.must(r.SetRate(b.Context(), pacer.PerSecond(500), 0)) },
		"rate up":   func(b *bed, r *Run) Change { return b.must(r.SetRate(b.Context(), pacer.PerSecond(1500), 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b *bed) {
				r, members, started, laws := b.lostRun(10 * time.Second)
				b.restore(r, started, laws)
				held := []lease.Ranges{members[0].holder.View().Held, members[1].holder.View().Held}
				members[0].renew()
				at := command(b, r).At
				if given := b.lastEvent(r); at.Sub(given) > 600*time.Millisecond {
					t.Errorf("in force after %v", at.Sub(given))
				}
				var holds int64
				for i, m := range members {
					m.renew()
					v := m.holder.View()
					if n := v.Laws.Newest(); n.T0 != at.UnixMicro() {
						t.Errorf("%s goes by %+v", m.id, n)
					}
					if !slices.Equal(v.Held, held[i]) {
						t.Errorf("%s holds %v, and held %v", m.id, v.Held, held[i])
					}
					holds += v.Held.Len()
				}
				if holds != circle.Units {
					t.Errorf("they hold %d units", holds)
				}
				if d := b.state(r).AskedAt(at) - (at.UnixMicro()-started)/1000; d < -1 || d > 1 {
					t.Errorf("%d too many were asked for when it came into force", d)
				}
			})
		})
	}
}

// TestStopLost: a run that was stopped while it was lost is restored as stopped. Its workers confirm that and are in
// its report, and Stop waits for nobody.
func TestStopLost(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, members, started, laws := b.lostRun(spec.MaxPermitFor) // a stop that waits for a lease does not end here
		done := make(chan error, 1)
		go func() {
			_, err := stopLost(t.Context(), b.client, "r", never)
			done <- err
		}()
		await.True(b, "word is left", func() bool { return b.client.Exists(t.Context(), r.Keys.Stopped).Val() > 0 })
		b.client.Expire(t.Context(), r.Keys.Stopped, never) // it never looks old
		if err := r.Restore(t.Context(), started, laws, false); err != nil {
			t.Errorf("who cannot restore it ends before others can: %v", err)
		}
		if err := r.Restore(t.Context(), started, laws, true); err != nil {
			t.Fatal(err)
		}
		if err := await.Receive(t, "the restored run", done); err != nil {
			t.Error(err)
		}
		if s := b.state(r); s.Phase != "stopped" || b.client.Exists(t.Context(), r.Keys.Stopped).Val() != 0 {
			t.Errorf("it came back %s", s.Phase)
		}
		go func() {
			_, err := r.Stop(t.Context(), nil)
			done <- err
		}()
		for _, m := range members {
			if reply := m.renew(); reply.Status != lease.OK || m.holder.View().Laws.Newest().Phase != lease.Stopped {
				t.Errorf("%+v", reply)
			}
			m.holder.Halt(b.state(r).now.UnixMicro())
			if m.renew(); len(m.holder.View().Held) > 0 {
				t.Errorf("%s still holds %v", m.id, m.holder.View().Held)
			}
		}
		if err := await.Receive(t, "the end of the stop", done); err != nil {
			t.Error(err)
		}
		if s := b.state(r); len(s.Workers) != 2 || s.Workers[0].State != "left" || s.Workers[1].State != "left" {
			t.Errorf("%+v", s.Workers)
		}
	})
}

// TestStopWaitsForLeasesOfBefore: a worker that does not come back sends until its old lease ends, which Redis
// does not know. A worker that comes back and is cut off again sends until its new lease ends. Stop waits for the
// end of both.
func TestStopWaitsForLeasesOfBefore(t *testing.T) {
	for name, back := range map[string]int{"not back": 1, "back": 2} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			r, members, started, laws := b.lostRun(4 * time.Second)
			b.restore(r, started, laws)
			for _, m := range members[:back] {
				m.renew()
			}
			leaseEnd := time.UnixMicro(members[1].holder.View().P)
			done := make(chan error, 1)
			go func() {
				_, err := r.Stop(t.Context(), nil)
				done <- err
			}()
			v := members[0]
			await.True(b, "the stop is received", func() bool { v.renew(); return v.holder.View().Laws.Newest().Phase == lease.Stopped })
			v.halt()
			if err := await.Receive(t, "the end of the stop", done); err != nil || time.Now().Before(leaseEnd) {
				t.Errorf("stop returned %v, %v before its lease is over", err, time.Until(leaseEnd))
			}
			b.soon("a stop after the leases", time.Since(leaseEnd), 4*time.Second)
		})
	}
}

// TestStopLostForGood: if no worker that can restore the run is there, its workers end by themselves. They take no
// part in a new run of that name.
func TestStopLostForGood(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _, started, laws := b.lostRun(10 * time.Second)
		if _, err := StopLost(t.Context(), b.client, "r"); !errors.Is(err, ErrNoRun) {
			t.Errorf("a run that nobody brings back: %v", err)
		}
		await.True(b, "who has it ends", func() bool { return errors.Is(r.Restore(t.Context(), started, laws, false), pacer.ErrNoState) })
		anew, _ := b.create("r", permitted(1000), Options{})
		m := b.member(anew, "x").start()
		started, laws = b.known(anew, m)
		b.lose()
		if err := anew.Restore(t.Context(), started, laws, true); err != nil {
			t.Fatal(err)
		}
		if phase := b.state(anew).Phase; phase != "running" {
			t.Errorf("a later run of that name is %s", phase)
		}
	})
}

// TestStopLostLeavesANewRunAlone: a run of that name that was created in the meantime stays.
func TestStopLostLeavesANewRunAlone(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _, _, _ := b.lostRun(10 * time.Second)
		done := make(chan error, 1)
		go func() {
			_, err := stopLost(t.Context(), b.client, "r", never)
			done <- err
		}()
		await.True(b, "word is left", func() bool { return b.client.Exists(t.Context(), r.Keys.Stopped).Val() > 0 })
		anew, _ := b.create("r", permitted(1000), Options{})
		if err := await.Receive(t, "the new run", done); !errors.Is(err, ErrNoRun) || b.state(anew).Phase != "waiting" {
			t.Errorf("%v, it is %s", err, b.state(anew).Phase)
		}
	})
}

// TestStopOfARunThatVanishes: while a stop waits for a silent worker, the run is lost, removed, or replaced by a new one.
// The stop ends when the worker's lease is over, and says so. A new run goes on.
func TestStopOfARunThatVanishes(t *testing.T) {
	for name, vanish := range map[string]func(b *bed, r *Run){
		"lost": func(b *bed, _ *Run) { b.client.FlushAll(b.Context()) },
		"removed": func(b *bed, r *Run) {
			if err := Remove(b.Context(), b.client, r.Name, true); err != nil {
				b.Error(err)
			}
		},
		"replaced": func(b *bed, r *Run) { b.client.FlushAll(b.Context()); b.create(r.Name, constant(10), Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			asked := constant(100)
			asked.PermitFor = time.Second
			r, _ := b.create("r", asked, Options{})
			b.member(r, "silent").start()
			waits, done := make(chan struct{}), make(chan error, 1)
			var once sync.Once
			go func() {
				_, err := r.Stop(t.Context(), func([]Pending) { once.Do(func() { close(waits) }) })
				done <- err
			}()
			await.Closed(t, "the stop to wait", waits)
			vanish(b, r)
			if err := await.Receive(t, "the end of the stop", done); !errors.Is(err, ErrVanished) {
				t.Error(err)
			}
			if name == "replaced" {
				again, err := Open(t.Context(), b.client, "r")
				if err != nil {
					t.Fatal(err)
				}
				if s := b.state(again); s.Phase != "waiting" {
					t.Errorf("the new run is %s", s.Phase)
				}
			}
		})
	}
}
