package worker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/redistest"
	"github.com/loadctl/loadctl/internal/worker"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

var errLost = errors.New("the reply is lost")

// oneWay is a Limiter whose calls arrive and whose replies are lost for a while: from one that granted something on, until what has not
// come back is late for sure.
type oneWay struct {
	pacer.Limiter
	end context.CancelFunc // called some replies after the cut

	mu     sync.Mutex
	heard  int
	before pacer.Reply // the last one that was heard before the cut
	lost   pacer.Reply // the first one that was not, and is repeated
	other  bool        // it was repeated with something else
	after  int         // replies heard since the cut is over
}

const (
	warm = 20          // replies before the cut
	long = time.Second // that the permit has been in force at the end of the cut, or twice that without one
)

// Lease implements pacer.Limiter.
func (o *oneWay) Lease(ctx context.Context, ask pacer.Ask) (pacer.Reply, error) {
	r, err := o.Limiter.Lease(ctx, ask)
	if err != nil {
		return r, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch cut := o.lost.LeasedAt > 0; {
	case o.after > 0:
		if o.after++; o.after == warm {
			o.end()
		}
	case !cut && (o.heard < warm || r.Range.N == 0):
		o.before, o.heard = r, o.heard+1
	case !cut:
		o.lost = r
		return pacer.Reply{}, errLost
	case r.Now < max(o.before.Permit.From, o.lost.LeasedAt+long.Microseconds())+long.Microseconds():
		return pacer.Reply{}, errLost
	default:
		o.after, o.other = 1, r.LeasedAt != o.lost.LeasedAt || r.Range != o.lost.Range
	}
	return r, nil
}

// gatedRun makes a run of 500/s with a limiter, and leases from it.
func gatedRun(t *testing.T, client *redis.Client, script, settings string, permitFor time.Duration) pacer.Limiter {
	t.Helper()
	pieces, err := pacer.Constant(pacer.PerSecond(500), 0).Pieces()
	if err != nil {
		t.Fatal(err)
	}
	key := func(name string) string { return "{load:x}:" + name }
	keys := []string{key("spec"), key("budget"), key("workers"), key("seen"), key("totals"), key("snapshots"), key("events"), key("laws"), key("series"), key("limiter"), key("stopped")}
	if err := lua.Create().Run(t.Context(), client, keys, "{}", "uid", 0, 1_000_000, "test", "pieces", pacer.JoinPieces(pieces), "limit", settings,
		"left", -1, "min", 1, "horizon", 500_000, "ttl", 1_000_000, "qmax", 10_000, "permitfor", permitFor.Microseconds()).Err(); err != nil {
		t.Fatal(err)
	}
	return pacer.NewGated(client, pacer.LeaseKeys{
		Budget: key("budget"), Workers: key("workers"), Seen: key("seen"), Events: key("events"), Laws: key("laws"), Limiter: key("limiter"),
	}, "uid", script)
}

// TestGatedReplyIsLate: what a limiter granted in a reply that comes late is dropped: as what the permit was used for, or as too late to be caught
// up with. Nothing of it is sent on top of what the permit has sent.
func TestGatedReplyIsLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, settings string
		permitFor        time.Duration
		catchUp          time.Duration
	}{
		"token-bucket, on a permit":   {"token_bucket", "100:0:0:0:0", time.Minute, time.Hour},
		"token-bucket, not caught up": {"token_bucket", "100:0:0:0:0", 0, 0},
		"together, on a permit":       {"token_bucket", "100:0:0:0:1", time.Minute, time.Hour},
		"leaky-bucket, on a permit":   {"leaky_bucket", "100:0:0:1:0", time.Minute, time.Hour},
		"sliding-log, not caught up":  {"sliding_log", "0:1000000:0:0:0", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, client *redis.Client) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				limiter := &oneWay{Limiter: gatedRun(t, client, c.script, c.settings, c.permitFor), end: end}
				target, err := targets.New(targets.Spec{URL: "noop://"}, targets.Local{})
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				clock := pacer.NewClock()
				w := worker.Worker{
					ID: "w1", Incarnation: "1", Limiter: limiter, Clock: clock, Journal: noJournal{}, CatchUp: c.catchUp, MaxLag: time.Hour,
					NewClient: func(int) (worker.Client, error) { return worker.NewAdapter(clock, target, 16), nil },
				}
				total, err := w.Run(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if limiter.other {
					t.Error("the call repeated brings something else")
				}
				n, late := total.Counts, limiter.lost.Range.N
				if n.LateDropped < late || late == 0 || c.permitFor > 0 && n.PermitSent == 0 {
					t.Errorf("%d granted in the reply that came late, but dropped were %d, sent on the permit %d", late, n.LateDropped, n.PermitSent)
				}
				t.Logf("%d late, %+v", late, n)
			})
		})
	}
}
