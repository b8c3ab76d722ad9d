package rights_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// creation is one that waits.
type creation struct {
	told  chan string
	ended chan error
}

// waits begins to create a run, which waits for room.
func (b *bed) waits(ctx context.Context, name string, qps int64, most time.Duration) creation {
	c := creation{make(chan string, 9), make(chan error, 1)}
	wait := rights.Wait{Room: most, Tell: func(line string) { c.told <- line }}
	go func() {
		_, _, err := wait.Create(ctx, b.client, name, asked(qps), run.Options{})
		close(c.told) // who waits for a line in vain gets an empty one
		c.ended <- err
	}()
	return c
}

// line returns the names of the runs that wait.
func (b *bed) line() string {
	b.Helper()
	s, err := b.ledger.List(context.WithoutCancel(b.Context()))
	if err != nil {
		b.Fatal(err)
	}
	var names []string
	for _, p := range s.Queue {
		names = append(names, p.People.Run)
	}
	return strings.Join(names, " ")
}

// stop ends a run that has no workers, and gives its room back.
func (b *bed) stop(r *run.Run) {
	b.Helper()
	if _, err := r.Stop(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	b.renew(r)
}

// TestFirstComeFirstServed asserts that runs that wait get room in the order in which they came, also if a later one would
// fit, and that nobody overtakes them: no newcomer, and no run that raises its rate.
func TestFirstComeFirstServed(t *testing.T) {
	each(t, func(b *bed) {
		b.budget("1000", false)
		a, small := b.create("a", asked(800)), b.create("small", asked(100))
		b.works(small)
		first := b.waits(b.Context(), "first", 700, time.Hour)
		if line := await.Receive(b, "the line", first.told); !strings.HasPrefix(line, "run first waits for up to 1h0m0s: "+host+" has no room for 700/s: 100/s of its budget is left, the rest hold ") {
			b.Error(line)
		}
		second := b.waits(b.Context(), "second", 50, time.Hour)
		if line := await.Receive(b, "the line", second.told); !strings.Contains(line, ", and 1 run waits for it") {
			b.Error(line)
		}
		if got := b.line(); got != "first second" {
			b.Error(got)
		}
		if _, _, err := rights.Create(b.Context(), b.client, "new", asked(1), run.Options{}); !isRoom(err, "has no room for 1/s: 100/s of its budget is left", "2 runs wait for it; wait with --wait-budget") {
			b.Errorf("a newcomer: %v", err)
		}
		_, err := rights.Change(b.Context(), small, func() (run.Change, error) { return small.SetRate(b.Context(), asked(101).QPS, 0) })
		if !isRoom(err, "2 runs wait for it; slow these runs down") {
			b.Errorf("a higher rate: %v", err)
		}
		if got := b.rates(); len(got) != 2 {
			b.Errorf("a run that waits holds something: %v", got)
		}
		b.stop(a)
		for _, c := range []creation{first, second} {
			if err := await.Receive(b, "the end", c.ended); err != nil {
				b.Error(err)
			}
			if len(c.told) > 0 {
				b.Errorf("it says more: %q", <-c.told)
			}
		}
		if got := b.rates(); got["first"] != 700 || got["second"] != 50 || b.line() != "" {
			b.Errorf("%v, line %q", got, b.line())
		}
	})
}

// TestWaitEnds asserts that a wait ends at its limit and with its context, that there is then nothing left of it, and that
// nobody waits for more than the whole budget.
func TestWaitEnds(t *testing.T) {
	each(t, func(b *bed) {
		b.budget("1000", false)
		b.create("a", asked(800))
		if err := await.Receive(b, "the limit", b.waits(b.Context(), "x", 300, time.Millisecond).ended); !isRoom(err, "(waited for", "give a rate up to 200/s, or wait with a longer --wait-budget") {
			b.Error(err)
		}
		if err := await.Receive(b, "the refusal", b.waits(b.Context(), "x", 1001, time.Hour).ended); !isRoom(err, "its whole budget is 1000/s; give a rate up to 1000/s") {
			b.Error(err)
		}
		why := errors.New("a signal")
		ctx, cancel := context.WithCancelCause(b.Context())
		c := b.waits(ctx, "x", 300, time.Hour)
		await.Receive(b, "the line", c.told)
		cancel(why)
		if err := await.Receive(b, "the end", c.ended); !errors.Is(err, why) {
			b.Error(err)
		}
		if got := b.line(); got != "" || len(b.rates()) != 1 {
			b.Errorf("line %q, rates %v", got, b.rates())
		}
	})
}

// TestWaitForTheSameRun asserts that of many that wait to create one run all get it, as soon as one of them has made it.
func TestWaitForTheSameRun(t *testing.T) {
	each(t, func(b *bed) {
		b.budget("1000", false)
		a := b.create("a", asked(800))
		var all []creation
		for range 4 {
			c := b.waits(b.Context(), "x", 900, time.Hour)
			await.Receive(b, "the line", c.told)
			all = append(all, c)
		}
		b.stop(a)
		for _, c := range all {
			if err := await.Receive(b, "the run", c.ended); err != nil {
				b.Error(err)
			}
		}
		if got := b.rates(); got["x"] != 900 || len(got) != 1 || b.line() != "" {
			b.Errorf("%v, line %q", got, b.line())
		}
	})
}

// TestWaitForAThaw asserts that a creation waits for the end of a freeze.
func TestWaitForAThaw(t *testing.T) {
	each(t, func(b *bed) {
		if _, err := b.ledger.Freeze(b.Context(), host, ledger.Note{}); err != nil {
			b.Fatal(err)
		}
		c := b.waits(b.Context(), "x", 1, time.Hour)
		if line := await.Receive(b, "the line", c.told); !strings.Contains(line, "is frozen") {
			b.Error(line)
		}
		if _, err := b.ledger.Thaw(b.Context(), host, ledger.Note{}); err != nil {
			b.Fatal(err)
		}
		if err := await.Receive(b, "the run", c.ended); err != nil {
			b.Error(err)
		}
	})
}

// TestNewLedgerIsWaitedFor asserts that a creation waits for a ledger that grants nothing new yet, without being told to,
// also behind others that do, and that it does not wait for room then.
func TestNewLedgerIsWaitedFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		b := &bed{t, client, ledger.Ledger{Client: client}}
		b.budget("100", false)
		var all []creation
		for i, qps := range []int64{600, 60, 30} {
			c := b.waits(t.Context(), "r"+strconv.Itoa(i), qps, 0)
			all = append(all, c)
			if line := await.Receive(t, "the line", c.told); !strings.Contains(line, "waits for up to 35s: "+host+" has a budget, and the ledger of budgets is new") {
				t.Errorf("%d/s: %q", qps, line)
			}
		}
		ledgertest.Calm(t, client)
		if err := await.Receive(t, "the refusal", all[0].ended); !isRoom(err, "has no room for 600/s") {
			t.Error(err)
		}
		for _, c := range all[1:] {
			if err := await.Receive(t, "the run", c.ended); err != nil {
				t.Error(err)
			}
		}
	})
}
