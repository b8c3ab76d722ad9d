package results

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report/record"
)

// split sends each command of a pipeline by itself, so that commands of others can come in between.
type split struct {
	redis.Hook
	client rdb.Client
}

func (a split) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a split) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (a split) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := a.client.Process(ctx, cmd); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestReportsWhileWorkersWrite: at any time the audit of a report adds up. The workers' slots are those that were
// asked for and not skipped. This holds even if other commands come between the reads.
func TestReportsWhileWorkersWrite(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(5000), run.Options{})
		turn, stop := b.writers(r)
		defer stop()
		other := redistest.Another(b, b.client)
		defer other.Close()
		other.AddHook(split{client: b.client})
		slowly, err := run.Open(t.Context(), other, "x")
		if err != nil {
			t.Fatal(err)
		}
		for name, reader := range map[string]*run.Run{"one after the other": r, "each by itself": slowly} {
			sent, reports := int64(0), 0
			await.True(b, "20 reports, "+name, func() bool {
				turn()
				s := b.state(reader)
				var owned int64
				for _, w := range s.Workers {
					owned += w.Owned
				}
				if owned+s.Skipped != s.Issued {
					t.Fatalf("%s: the workers owned %d slots, %d were skipped, and %d were issued", name, owned, s.Skipped, s.Issued)
				}
				rep, err := Report(t.Context(), reader)
				if err == nil {
					err = rep.Audit.Check()
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if rep.Audit.Sent > sent && len(s.Workers) == 4 {
					sent, reports = rep.Audit.Sent, reports+1
				}
				return reports >= 20
			})
		}
	})
}

// writers runs four members that renew and publish, and a user who changes the rate, until stop. turn lets them write ten
// times, however long that takes: so a reader comes to an end on a slow machine too.
func (b *bed) writers(r *run.Run) (turn, stop func()) {
	b.Helper()
	first := b.member(r, "w0").start()
	done, turns := make(chan struct{}), make(chan struct{}, 10)
	var writing sync.WaitGroup
	for _, m := range []*member{first, b.member(r, "w1"), b.member(r, "w2"), b.member(r, "w3")} {
		writing.Go(func() { m.write(done, turns) })
	}
	writing.Go(func() {
		for rate := int64(4000); ; rate += 10 {
			select {
			case <-done:
				return
			case <-turns:
			}
			if _, err := r.SetRate(b.Context(), pacer.PerSecond(rate), 0); err != nil {
				b.Error(err)
				return
			}
		}
	})
	turn = func() {
		for range cap(turns) {
			select {
			case turns <- struct{}{}:
			default:
			}
		}
	}
	return turn, func() {
		close(done)
		writing.Wait()
	}
}

// write renews, and publishes which of its slots have passed, once for each turn, until done.
func (m *member) write(done, turns <-chan struct{}) {
	incarnation := m.holder.Call().Incarnation
	total, slots := record.NewSnapshot(m.id, incarnation), lease.NewSlots(0, 1)
	journal := NewJournal(m.run, m.id, incarnation)
	for {
		select {
		case <-done:
			return
		case <-turns:
		}
		reply, err := m.server.Renew(m.Context(), m.holder.Call())
		if err != nil {
			m.Error(err)
			return
		}
		m.holder.Receive(reply.Now, reply)
		in := record.NewSnapshot(m.id, incarnation)
		in.Seq, in.Start, in.End = total.Seq+1, 1, time.Now().UnixMicro()
		in.Counts.Sent, in.Counts.Beyond = m.past(slots, reply.Now)
		in.Counts.Completed = in.Counts.Sent
		total.Merge(in)
		total.Seq = in.Seq
		if err := journal.Publish(m.Context(), in, total, nil); err != nil {
			m.Error(err)
			return
		}
	}
}

// past takes the slots that are due by now, µs, and goes by the current View. It returns how many they are, and how
// many earlier slots are no longer asked for.
func (m *member) past(slots *lease.Slots, now int64) (n, beyond int64) {
	v, before := m.holder.View(), slots.Beyond()
	slots.Take(&v)
	m.holder.Agreed(v.Version, now, now)
	for x := (pacer.Slot{}); slots.Next(&x) && x.Due <= 1000*now; slots.Pop() {
		n++
	}
	return n, slots.Beyond() - before
}
