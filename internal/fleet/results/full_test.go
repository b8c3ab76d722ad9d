package results

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report/record"
)

// TestStopMakesRoom: on a server that has just become full, a command empties the stream that only watchers read. Then
// the workers' last reports fit.
func TestStopMakesRoom(t *testing.T) {
	for name, change := range map[string]func(r *run.Run) (run.Change, error){
		"stop":  func(r *run.Run) (run.Change, error) { return r.Stop(t.Context(), nil) },
		"pause": func(r *run.Run) (run.Change, error) { return r.Pause(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			asked := constant(100)
			asked.OnRedisLoss = spec.LossStop
			r, _ := b.create("x", asked, run.Options{})
			b.member(r, "w").start()
			_, err := b.client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
				for range streamLength {
					p.XAdd(t.Context(), &redis.XAddArgs{Stream: r.Keys.Snapshots, Values: []any{"w", "w/incw", "s", make([]byte, 1000)}})
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			full := b.used() - 200_000
			if err := b.client.ConfigSet(t.Context(), "maxmemory", strconv.FormatInt(full, 10)).Err(); err != nil {
				t.Fatal(err)
			}
			total := record.NewSnapshot("w", "incw")
			total.Seq = 1
			publish := func() error { return NewJournal(r, "w", "incw").Publish(t.Context(), total, total, nil) }
			b.wants(publish(), nil, "OOM command not allowed")
			if why := r.MemoryAdvice(t.Context()); !strings.Contains(why, "raise its maxmemory") {
				t.Errorf("%q", why)
			}
			if c := b.must(change(r)); !c.Changed {
				t.Errorf("%+v", c)
			}
			if err := publish(); err != nil {
				t.Errorf("%v, at %d of %d bytes", err, b.used(), full)
			}
			if why := r.MemoryAdvice(t.Context()); why != "" {
				t.Errorf("%q", why)
			}
		})
	}
}

// used is how many bytes the server uses.
func (b *bed) used() int64 {
	b.Helper()
	var n int64
	for line := range strings.Lines(b.client.Info(b.Context(), "memory").Val()) {
		if text, is := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); is {
			n, _ = strconv.ParseInt(text, 10, 64)
		}
	}
	if n == 0 {
		b.Fatal("the server does not report how much memory it uses")
	}
	return n
}
