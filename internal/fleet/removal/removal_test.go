package removal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
)

// TestRemoveWorker: other workers get the share of a removed worker at once, not at the end of its lease.
func TestRemoveWorker(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r := b.create(permitted(100, spec.MaxPermitFor))
		other, dead := b.member(r, "a"), b.member(r, "b")
		dead.renew()
		other.start()
		await.True(b, "a share of each", func() bool { other.renew(); dead.renew(); return !b.state(r).Workers[1].LeaseUntil.IsZero() })
		await.True(b, "its silence", func() bool {
			other.renew()
			return b.state(r).Workers[1].State == "silent"
		})
		leaseEnd := b.state(r).Workers[1].LeaseUntil
		if s := b.state(r); s.Workers[1].State != "silent" || !leaseEnd.After(s.Now()) || s.Members != 2 {
			t.Errorf("%+v", s)
		}
		before, err := Worker(t.Context(), r, "b", false)
		if err != nil || before.State != "silent" || before.Gone() {
			t.Errorf("%+v, %v", before, err)
		}
		removed := b.state(r).Now()
		reply := other.renew()
		if s := b.state(r); reply.Members != 1 || s.Members != 1 || s.Workers[1].State != "removed" || !s.Workers[1].LeaseUntil.IsZero() {
			t.Errorf("%+v, %+v", reply, s)
		}
		events, err := r.Events(t.Context(), 1)
		if err != nil || len(events) != 1 || events[0].Kind != "removed" || events[0].Who != "b" || events[0].What != "by "+run.Who() {
			t.Errorf("%+v, %v", events, err)
		}
		await.True(b, "its share", func() bool { other.renew(); return other.holder.View().Held.Len() == circle.Units })
		now := b.state(r).Now()
		if !now.Before(leaseEnd) {
			t.Errorf("its share came at %v, its lease would have ended at %v", now, leaseEnd)
		}
		await.Soon(b, "the share of a removed worker", now.Sub(removed), 2*time.Second)
		// Removing it again changes nothing.
		if before, err = Worker(t.Context(), r, "b", false); err != nil || !before.Gone() || before.State != "removed" {
			t.Errorf("%+v, %v", before, err)
		}
		if again := b.events(r); strings.Count(again, "removed") != 1 {
			t.Error(again)
		}
	})
}

// TestRemoveLostWorker: a lost worker has nothing left to remove, and that is no error.
func TestRemoveLostWorker(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r := b.create(permitted(100, time.Second))
		b.member(r, "w").start()
		before := b.state(r).Workers[0]
		await.True(b, "its loss", func() bool { return b.state(r).Workers[0].State == "lost" })
		if w, err := Worker(t.Context(), r, "w", false); err != nil || w.ID != "w" {
			t.Errorf("%+v, %v", w, err)
		}
		if other := before; !gone(t.Context(), r, other) {
			t.Errorf("%+v takes part", other)
		}
		before.Incarnation = "another"
		if gone(t.Context(), r, before) {
			t.Errorf("%+v is the one that was lost", before)
		}
	})
}

func TestRemoveWorkerThatLives(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r := b.create(constant(100))
		m := b.member(r, "w").start()
		m.renew()
		_, err := Worker(t.Context(), r, "w", false)
		b.wants(err, ErrAlive, "remove worker w of run x: it may be alive: heard of 0.", " s ago; if it is dead, try again in 2 s, or --force")
		if s := b.state(r); s.Members != 1 {
			t.Errorf("%+v", s)
		}
		// A process that lives calls when it is asked to.
		asked := b.client.(*redis.Client).Subscribe(t.Context(), r.Keys.Control+":w")
		if _, err := asked.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := Worker(t.Context(), r, "w", true)
			done <- err
		}()
		if _, err := asked.ReceiveMessage(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.renew()
		b.wants(<-done, ErrAlive, "remove worker w of run x: it may be alive: it calls when it is asked to")
		if err := asked.Close(); err != nil {
			t.Fatal(err)
		}
		if s := b.state(r); s.Members != 1 {
			t.Errorf("%+v", s)
		}
		// One that is silent is removed.
		if _, err := Worker(t.Context(), r, "w", true); err != nil {
			t.Fatal(err)
		}
		if s := b.state(r); s.Members != 0 || s.Workers[0].State != "removed" {
			t.Errorf("%+v", s)
		}
		await.True(b, "its return", func() bool { return m.renew().Status == lease.OK && b.state(r).Members == 1 })
	})
}

// TestSilent: a worker that calls rarely, because its fleet is large, counts as alive for longer.
func TestSilent(t *testing.T) {
	b := &bed{T: t}
	for _, c := range []struct {
		every time.Duration
		ago   time.Duration
		says  string // "" = it may be removed
	}{
		{500 * time.Millisecond, 1499 * time.Millisecond, "it may be alive: heard of 1.5 s ago; if it is dead, try again in 1 s"},
		{500 * time.Millisecond, 1500 * time.Millisecond, ""},
		{2500 * time.Millisecond, time.Second, "it may be alive: heard of 1.0 s ago; if it is dead, try again in 7 s"},
		{2500 * time.Millisecond, 7499 * time.Millisecond, "heard of 7.5 s ago"},
		{2500 * time.Millisecond, 7500 * time.Millisecond, ""},
		{250 * time.Millisecond, 749 * time.Millisecond, "try again in 1 s"},
	} {
		err := unheard(c.ago, 3*c.every)
		if c.says != "" {
			b.wants(err, ErrAlive, c.says)
		} else if err != nil {
			t.Errorf("one that calls every %v, heard of %v ago: %v", c.every, c.ago, err)
		}
	}
}

func TestRemoveWorkersThereAreNot(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r := b.create(constant(100))
		_, err := Worker(t.Context(), r, "w", true)
		b.wants(err, ErrNoWorker, "remove worker w of run x: there is no such worker; none has joined yet")
		var ids []string
		var members []*member
		for i := range namesAtOnce {
			ids = append(ids, fmt.Sprint("w", i))
			members = append(members, b.member(r, ids[i]))
			members[i].renew()
		}
		_, err = Worker(t.Context(), r, "w", true)
		b.wants(err, ErrNoWorker, "; there are "+strings.Join(ids, ", "))
		b.member(r, "y").renew()
		b.member(r, "z").renew()
		_, err = Worker(t.Context(), r, "w", true)
		b.wants(err, ErrNoWorker, "there are "+strings.Join(ids, ", ")+" and 2 more")
		members[3].halt()
		if before, err := Worker(t.Context(), r, "w3", false); err != nil || before.State != "left" {
			t.Errorf("%+v, %v", before, err)
		}
		b.client.FlushDB(t.Context())
		_, err = Worker(t.Context(), r, "y", true)
		b.wants(err, run.ErrNoRun)
	})
}

// TestRemoveIsOfTheNewestProcess: a process counts as gone if another one has taken its id.
func TestRemoveIsOfTheNewestProcess(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r := b.create(constant(100))
		b.member(r, "w").renew()
		newer := b.member(r, "w")
		newer.holder = lease.NewHolder("w", "newer", 1)
		newer.renew()
		if before, err := Worker(t.Context(), r, "w", true); err != nil || before.Incarnation != "newer" {
			t.Errorf("%+v, %v", before, err)
		}
		if s := b.state(r); s.Members != 0 || s.Workers[0].State != "replaced" || s.Workers[1].State != "removed" {
			t.Errorf("%+v", s.Workers)
		}
	})
}
