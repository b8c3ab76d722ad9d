package ledger_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/ledger/ledgertest"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// queueKey is that of the line.
const queueKey = "{load:_endpoints}:queue"

// line is a ledger with a budget and runs that wait.
type line struct {
	*testing.T
	ledger.Ledger
}

func newLine(t *testing.T, client rdb.Client) line {
	l := line{t, ledgertest.Calm(t, client)}
	l.set("*.example.com", 100e6)
	return l
}

func (l line) set(name string, rate int64) {
	l.Helper()
	if _, err := l.Set(l.Context(), name, rate, false, ledger.Note{}); err != nil {
		l.Fatal(err)
	}
}

// enter makes a run wait at hosts, and returns its places.
func (l line) enter(run string, hosts ...string) (places []ledger.Place) {
	l.Helper()
	for _, host := range hosts {
		places = append(places, ledger.Place{Host: host, Run: run, Rate: 5e6, People: ledger.People{Run: "of " + run, Who: "ann@desk"}})
	}
	if _, err := l.Enter(l.Context(), places); err != nil {
		l.Fatal(err)
	}
	return places
}

// names returns the runs of places.
func names(places []ledger.Place) (all []string) {
	for _, p := range places {
		all = append(all, p.Run)
	}
	return all
}

// before checks for whom a place has to wait.
func (l line) before(p ledger.Place, want ...string) {
	l.Helper()
	s, err := l.Line(l.Context())
	if got := names(s.Before(p)); err != nil || !slices.Equal(got, want) {
		l.Errorf("%s at %s waits for %q, want %q, error %v", p.Run, p.Host, got, want, err)
	}
}

// TestLineHasAnOrder asserts that runs that share a budget wait in the order in which they came, behind all of them who did
// not come to wait, and that a renewal changes no order.
func TestLineHasAnOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, lineHasAnOrder)
}

// TestLineHasAnOrderInACluster is TestLineHasAnOrder on a cluster.
func TestLineHasAnOrderInACluster(t *testing.T) {
	t.Parallel()
	lineHasAnOrder(t, redistest.StartCluster(t, 3).Client())
}

func lineHasAnOrder(t *testing.T, client rdb.Client) {
	l := newLine(t, client)
	newcomer := ledger.Place{Host: "c.example.com:80", Run: "z"}
	l.before(newcomer)
	first := l.enter("y", "a.example.com:80")
	second := l.enter("x", "b.example.com:443", "other:80")
	l.before(newcomer, "y", "x")
	l.before(first[0])
	l.before(second[0], "y")
	l.before(ledger.Place{Host: "other:80", Run: "z"}) // no budget bounds it
	l.set("*", 1e6)
	l.before(ledger.Place{Host: "other:81", Run: "z"}, "x")
	for range 2 {
		if _, err := l.Enter(t.Context(), first); err != nil {
			t.Fatal(err)
		}
	}
	l.before(second[0], "y")
	s := list(t, l.Ledger)
	if p := s.InLine("a.example.com:80"); !slices.Equal(names(p), []string{"y", "x"}) || p[0] != first[0] || p[0].Rate != 5e6 || p[0].People.Who != "ann@desk" {
		t.Errorf("%+v", p)
	}
	if err := l.Leave(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	l.before(second[0])
	if err := l.Leave(t.Context(), second); err != nil || len(list(t, l.Ledger).Queue) != 0 {
		t.Errorf("%+v, error %v", list(t, l.Ledger).Queue, err)
	}
	if err := l.Leave(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestFrozenIsNotInTheWay asserts that who waits for the end of a freeze keeps nobody from sending elsewhere.
func TestFrozenIsNotInTheWay(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		l := newLine(t, client)
		l.enter("x", "a.example.com:80")
		if _, err := l.Freeze(t.Context(), "a.example.com", ledger.Note{}); err != nil {
			t.Fatal(err)
		}
		l.before(ledger.Place{Host: "b.example.com:80", Run: "z"})
		if _, err := l.Thaw(t.Context(), "a.example.com", ledger.Note{}); err != nil {
			t.Fatal(err)
		}
		l.before(ledger.Place{Host: "b.example.com:80", Run: "z"}, "x")
	})
}

// TestNoDeadlockInLine asserts that of two runs that wait for the same two hosts one is the first at both.
func TestNoDeadlockInLine(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		l := newLine(t, client)
		l.set("other", 1e6)
		x, y := l.enter("x", "a.example.com:80"), l.enter("y", "other:80")
		x = append(x, ledger.Place{Host: "other:80", Run: "x", Entered: x[0].Entered})
		y = append(y, ledger.Place{Host: "a.example.com:80", Run: "y", Entered: y[0].Entered})
		for _, places := range [][]ledger.Place{y, x} {
			if _, err := l.Enter(t.Context(), places); err != nil {
				t.Fatal(err)
			}
		}
		l.before(x[0])
		l.before(x[1])
		l.before(y[0], "x")
		l.before(y[1], "x")
	})
}

// TestDeadPlacesEnd asserts that a place that nobody renewed for 5 s does not count, also one of another clock, that others
// remove it, and that the last one ends by itself.
func TestDeadPlacesEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		l := newLine(t, client)
		l.enter("x", "a.example.com:80")
		const field = "a.example.com:80 x"
		text := client.HGet(t.Context(), queueKey, field).Val()
		for renewed, counts := range map[time.Duration]bool{-6 * time.Second: false, -4 * time.Second: true, time.Hour: false} {
			var p map[string]any
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				t.Fatal(err)
			}
			p["renewed"] = list(t, l.Ledger).Now.Add(renewed).UnixMicro()
			changed, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			client.HSet(t.Context(), queueKey, field, changed, "garbage", "{", "a b", "[]")
			if got := list(t, l.Ledger).Queue; (len(got) == 1) != counts {
				t.Errorf("renewed at %v: %+v", renewed, got)
			}
			other := l.enter("y", "a.example.com:80")
			if all := client.HKeys(t.Context(), queueKey).Val(); slices.Contains(all, field) != counts || slices.Contains(all, "garbage") || slices.Contains(all, "a b") {
				t.Errorf("renewed at %v: %q are left", renewed, all)
			}
			if err := l.Leave(t.Context(), other); err != nil {
				t.Fatal(err)
			}
		}
		l.enter("y", "a.example.com:80")
		if ttl := client.PTTL(t.Context(), queueKey).Val(); ttl <= 5*time.Second || ttl > 10*time.Second {
			t.Errorf("the line is kept for %v", ttl)
		}
	})
}
