package results

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
)

// slow is a guard that fails while requests take 1 ms, as those of a sender do. Its windows count 5 s after a step.
const slow = "latency:p(50)<500us over 1s reduce by 20% after 2"

// steps judges the guards at the end of a second, with what was known of the run. It returns whether they gave an order.
func (j *judge) steps(t *testing.T, s *run.State, second int64) bool {
	t.Helper()
	if err := j.readNew(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	stretch, ok, err := j.stretch(t.Context(), s, second, false)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	ordered, err := j.guard(t.Context(), s, stretch)
	if err != nil {
		t.Fatal(err)
	}
	return ordered
}

// scaled returns what the events say of scales.
func (b *bed) scaled(r *run.Run) (all []string) {
	b.Helper()
	events, err := r.AllEvents(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == "scale" {
			all = append(all, e.What)
		}
	}
	return all
}

// TestGuardStepsOnce: a judge lowers the rate when as many windows in a row have failed as the guard says. Another judge
// that takes over has seen none of them. It comes to the same step, which is void. So is a step
// of a judge that does not know yet that a person has set the rate.
func TestGuardStepsOnce(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, one, two, j := b.judging(slow)
		_, other := *j, *j
		other.guards = guardsOf(r.Spec, j.thresholds)
		s := b.state(r)
		one.sendSeconds(s.StartedAt, 0, 10)
		two.sendSeconds(s.StartedAt, 0, 10)
		for second := int64(1); second <= 6; second++ {
			if j.steps(t, s, second) {
				t.Fatalf("a step at second %d", second)
			}
		}
		if !j.steps(t, s, 7) || !other.steps(t, s, 7) {
			t.Error("no step")
		}
		want := "80 % of the plan, threshold " + slow + " failed at second 7: "
		if got := b.scaled(r); len(got) != 1 || !strings.HasPrefix(got[0], want) || !strings.HasSuffix(got[0], "ms") {
			t.Errorf("%q, want %q", got, want)
		}
		if now := b.state(r); now.Scale().Factor != 800_000 || other.steps(t, now, 7) || j.steps(t, now, 7) {
			t.Errorf("the same windows lower it twice: %v", b.scaled(r))
		}
		third := other
		third.guards = guardsOf(r.Spec, j.thresholds)
		b.must(r.SetRate(t.Context(), pacer.PerSecond(100), 0))
		if third.steps(t, s, 7); b.state(r).Scale().Factor != 1_000_000 {
			t.Errorf("a judge that does not know of it has lowered the rate that a person set: %v", b.scaled(r))
		}
	})
}

// TestGuardStopsAtTheFloor: a floor counts from the rate that people asked for.
func TestGuardStopsAtTheFloor(t *testing.T) {
	b := newBed(t)
	r, one, two, j := b.judging("latency:p(50)<500us over 1s reduce to 10% after 1 down to 70/s")
	s := b.state(r)
	one.sendSeconds(s.StartedAt, 0, 8)
	two.sendSeconds(s.StartedAt, 0, 8)
	if got := j.steps(t, s, 8); !got || b.state(r).Scale().Factor != 700_000 {
		t.Errorf("%v, %+v", got, b.state(r).Scale())
	}
}

// TestStepUpNeedsRoom: a guard raises the rate of a run only if its endpoint has room, and tries that again later. It raises
// it no higher than a cut of the budget has left it.
func TestStepUpNeedsRoom(t *testing.T) {
	b := newBed(t)
	const host = "127.0.0.1:9"
	l := ledgertest.Calm(t, b.client)
	budget := func(rate string, cut bool) {
		t.Helper()
		n, err := ledger.ParseRate(rate)
		if err == nil {
			_, err = l.Set(t.Context(), host, n, cut, ledger.Note{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	budget("150", false)
	asked := constant(100)
	asked.Target.URL, asked.Thresholds = "http://"+host+"/", []string{"latency:p(50)<1h over 1s reduce by 50% after 1 restore after 1s"}
	r, _, err := rights.Create(t.Context(), b.client, "x", asked, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	worker := b.member(r, "a").start()
	one := b.sender(r, "a", "inca")
	all, err := r.Spec.Conditions()
	if err != nil {
		t.Fatal(err)
	}
	j := &judge{own: r, run: r, aside: func(context.Context) (*run.Run, error) { return r, nil }, thresholds: all, guards: guardsOf(r.Spec, all), log: slog.New(slog.DiscardHandler)}
	one.sendSeconds(b.state(r).StartedAt, 0, 20)
	renew := func() {
		t.Helper()
		if _, err := rights.NewKeeper(r).Renew(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	up := func(second int64) bool { t.Helper(); return j.steps(t, b.state(r), second) }
	b.must(r.Scale(t.Context(), 500_000, 0, "by the test"))
	hold := func(rate int64) func() bool {
		return func() bool {
			worker.renew()
			renew()
			rows, err := l.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(rows.Rows) > 0 && rows.Rows[0].Rate == rate*lease.Unscaled
		}
	}
	await.True(b, "the room that is given back", hold(50))
	budget("60", false)
	if up(9) || b.state(r).Scale().Factor != 500_000 || !j.refused {
		t.Errorf("raised without room: %+v", b.state(r).Scale())
	}
	budget("150", false)
	if !up(10) || b.state(r).Scale().Factor != 1_000_000 || j.refused {
		t.Errorf("not raised: %+v", b.state(r).Scale())
	}
	b.must(r.Scale(t.Context(), 500_000, 0, "by the test"))
	budget("60", true)
	renew()
	if cut := b.state(r).Scale(); cut.Factor != 500_000 || cut.Most != 600_000 || !up(19) || up(20) || b.state(r).Scale().Factor != 600_000 {
		t.Errorf("after a cut: %+v, then %+v", cut, b.state(r).Scale())
	}
}
