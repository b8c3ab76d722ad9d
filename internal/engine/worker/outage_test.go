package worker

import (
	"context"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/model"
)

// TestPublisherReportsOutages: the last snapshot names the times in which nothing could be published, except short
// ones.
func TestPublisherReportsOutages(t *testing.T) {
	for name, fault := range map[string]func(context.Context, *ledger) error{"refuses": refuses, "hangs": hangs} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(t *testing.T) {
				s := newSim(t, 100, model.Options{Span: 40 * second, Min: 1})
				s.fleet(1)
				times := [][2]time.Duration{{5 * time.Second, 12 * time.Second}, {15 * time.Second, 15*time.Second + 900*time.Millisecond}, {20 * time.Second, 50 * time.Second}}
				l := ledgerOf(s.members[0], func(ctx context.Context, l *ledger) error {
					for _, at := range times {
						if within(l.since(), at) {
							return fault(ctx, l)
						}
					}
					return nil
				})
				s.run()
				if len(l.kept) != 1 {
					t.Fatalf("kept %d times", len(l.kept))
				}
				outages := l.kept[0].total.Outages // the second was short, the last one was not over
				if len(l.total.Outages) != 1 || len(outages) != 2 {
					t.Fatalf("published %+v, kept %+v", l.total.Outages, outages)
				}
				// Then the worker tries for a while: each attempt, and each pause before one, takes at most a second.
				over := s.begun(0) + 40*time.Second
				for i, want := range [][3]time.Duration{
					{times[0][0], times[0][1] - 1100*time.Millisecond, times[0][1] + 1100*time.Millisecond},
					{20 * time.Second, over + finalTimeout - publishTimeout - finalLongest, over + attemptTimeout + finalTimeout},
				} {
					began := time.UnixMicro(outages[i].From).Sub(s.began.Add(s.skew))
					ended := time.UnixMicro(outages[i].To).Sub(s.began.Add(s.skew))
					if d := began - want[0]; d < 0 || d > 1100*time.Millisecond {
						t.Errorf("outage %d began at %v", i, began)
					}
					if ended < want[1] || ended > want[2] {
						t.Errorf("outage %d ended at %v, want %v to %v", i, ended, want[1], want[2])
					}
				}
			})
		})
	}
}

// TestRenewsInAGap: Redis is away for 4 s, answers for 0.7 s, and is away again. Every worker renews in between, also one
// whose last call before took long. So nothing is missing, though a lease covers only one of the two outages.
func TestRenewsInAGap(t *testing.T) {
	simulate(t, func(t *testing.T) {
		s := newSim(t, 1000, model.Options{Span: 20 * second, Min: 20, Hold: 6 * second})
		s.fleet(20)
		s.gone = [][2]time.Duration{{5 * time.Second, 9 * time.Second}, {9700 * time.Millisecond, 13700 * time.Millisecond}}
		for i, m := range s.members {
			slow := i%2 == 0
			m.delay = func() time.Duration {
				if slow && within(m.since(), [2]time.Duration{4 * time.Second, 4800 * time.Millisecond}) {
					return 450 * time.Millisecond
				}
				return time.Millisecond
			}
		}
		s.run()
		exactly(t, s.audit(), 20_000)
	})
}
