package limit_test

import (
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer/limit"
)

// buckets are the limiters whose drops are converted when the rate changes.
func buckets() []string { return []string{"leaky-bucket", "token-bucket", "token-bucket debt", "gcra"} }

// TestLowered: after any grants and any drop of the rate, no wait exceeds the 366 days that a window may have. A
// caller that comes back after that is served.
func TestLowered(t *testing.T) {
	t.Parallel()
	const year, most = 366 * day, int64(1_000_000_000)
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		for i, name := range buckets() {
			s := of(t, client, name)
			s.key = i * 100
			for _, change := range [][2]law{
				{{1_000_000, day, 1_000_000}, {5, day, 5}},
				{{most, second, most}, {1, year, 1}},
				{{most, most, most}, {most - 1, year, 100}},
				{{1_000_000, second, most}, {1, year, 142}},
				{{3, second, 1_000_000}, {1, second, 1}},
			} {
				s.fresh()
				fast, slow := change[0], change[1]
				s.take(fast, fast.burst, true)
				if s.debt { // the bucket owes nothing yet
					s.take(fast, fast.burst, false)
					s.now += 2 * second
					s.take(fast, most, false)
				}
				r := s.take(slow, 1, true)
				longest := max(year, slow.burst*(slow.window/slow.count+1)) + slow.window
				full := longest
				if s.debt { // the bucket has to be filled beyond its debt
					full *= 2
				}
				if r.retry > longest || r.reset > full || r.granted > 0 {
					s.fail("%+v, then %+v: %+v, at most %d µs were promised", fast, slow, r, longest)
				}
				s.now += r.retry
				if r = s.take(slow, 1, true); r.granted != 1 {
					s.fail("%+v, then %+v: not granted when it was said: %+v", fast, slow, r)
				}
			}
			for _, broken := range s.failed {
				t.Errorf("%s: %s", name, broken)
			}
		}
	})
}

// TestLoweredByLibrary: the times in the answer of a lowered limiter fit into a Duration.
func TestLoweredByLibrary(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		for _, name := range []string{"leaky-bucket", "token-bucket", "gcra"} {
			r := must(t, name, client, "lowered", limit.PerWindow(1_000_000, 24*time.Hour))
			if a, err := r.Take(t.Context(), 1_000_000); err != nil || a.Granted != 1_000_000 {
				t.Fatalf("%s: %+v, %v", name, a, err)
			}
			if err := r.SetLimit(t.Context(), limit.PerWindow(5, 24*time.Hour)); err != nil {
				t.Fatal(err)
			}
			a, err := r.Take(t.Context(), 1)
			for n := 1; err == nil && a.Granted > 0 && n < 5; n++ { // what came in while this process had no processor
				a, err = r.Take(t.Context(), 1)
			}
			if err != nil {
				t.Fatal(err)
			}
			if name == "token-bucket" { // it is empty and owes nothing
				if a.RetryAfter <= 0 || a.RetryAfter > 5*time.Hour {
					t.Errorf("%s: %+v, want to wait for one permit", name, a)
				}
			} else if a.RetryAfter < 300*24*time.Hour || a.RetryAfter > 366*24*time.Hour {
				t.Errorf("%s: %+v, want about a year", name, a)
			}
		}
	})
}

// TestMixedParts: clients may divide the window of one key into different numbers of parts. Together they keep one
// bound, and all are served in the long run.
func TestMixedParts(t *testing.T) {
	t.Parallel()
	l := law{10, 2 * second, 10}
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		for i, parts := range [][2]int64{{20, 1}, {1, 20}, {10, 7}, {1000, 3}, {2, 3}} {
			s := of(t, client, "sliding-window")
			s.key = 1000 + i
			s.extra = window(1 + 2/float64(max(parts[0], parts[1])))
			var grants []grant
			s.option = min(parts[0], parts[1])
			total := int64(0)
			for k := range 300 {
				s.option = parts[k%2]
				r := s.take(l, 10, false)
				if total += r.granted; k == 9 && total > 10 { // 1.1 s have passed
					s.fail("parts %v: %d permits in 1.1 s", parts, total)
				}
				grants = s.record(grants, l, s.now, r)
				s.now += second * 11 / 100
			}
			s.within(grants, []grant{{0, l}}, 10, lengths(l)...)
			if most := int64(10 * (33/2 + 1)); total < most*6/10 || total > most {
				s.fail("parts %v: %d permits in 33 s, want nearly %d", parts, total, most)
			}
			for _, broken := range s.failed {
				t.Error(broken)
			}
		}
	})
}

// TestTooLarge: a limit under which no call could be granted is refused when it is made, in Go and in the script. It
// changes nothing.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		for _, name := range []string{"leaky-bucket", "token-bucket", "gcra"} {
			for _, c := range []struct {
				limit limit.Limit
				good  bool
			}{
				{limit.Limit{Count: 1, Window: 366 * 24 * time.Hour, Burst: 1e9}, false},
				{limit.Limit{Count: 1, Window: 366 * 24 * time.Hour, Burst: 143}, false},
				{limit.Limit{Count: 1, Window: 366 * 24 * time.Hour, Burst: 142}, true},
				{limit.Limit{Count: 999_999_999, Window: 366*24*time.Hour - time.Microsecond}, false},
				{limit.Limit{Count: 1e9, Window: 366 * 24 * time.Hour}, true},
			} {
				r := must(t, name, client, "large", limit.PerWindow(10, time.Second))
				before := redistest.Contents(t, client)
				_, made := limit.New(name, limit.Redis(client), "large", c.limit)
				set := r.SetLimit(t.Context(), c.limit)
				if (made == nil) != c.good || (set == nil) != c.good {
					t.Errorf("%s, %+v: made with the error %v, set with %v", name, c.limit, made, set)
				}
				if c.good {
					if a, err := r.Take(t.Context(), 1); err != nil || a.Granted != 1 {
						t.Errorf("%s, %+v: %+v, %v", name, c.limit, a, err)
					}
				} else if after := redistest.Contents(t, client); len(after) != len(before) {
					t.Errorf("%s, %+v: refused, but now there is %v", name, c.limit, after)
				}
				client.FlushAll(t.Context())
			}
		}
	})
}

// TestTooLargeInScript: the script makes this check itself, only for limiters that count drops.
func TestTooLargeInScript(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		for drops, good := range map[int]bool{0: true, 1: false} {
			err := setLimit(t, client, 1, 366*day, 1_000_000_000, drops)
			if (err == nil) != good || !good && client.Exists(t.Context(), "limit").Val() != 0 {
				t.Errorf("drops %d: %v, keys %v", drops, err, redistest.Contents(t, client))
			}
			client.FlushAll(t.Context())
		}
		if err := setLimit(t, client, 1, 366*day, 142, 1); err != nil {
			t.Error(err)
		}
		if err := setLimit(t, client, 1, day, 1, 2); err == nil {
			t.Error("neither with drops nor without: no error")
		}
	})
}

// TestLimitKept: refused calls do not prolong the life of a limit that was set, unless it still has to refuse calls.
func TestLimitKept(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		number := 0
		for name := range promises() {
			s := of(t, client, name)
			number++
			s.key = number
			key, l := s.keys()[1], law{5, 60 * second, 5}
			set := func(window int64, life time.Duration) {
				t.Helper()
				client.HSet(t.Context(), key, "count", 5, "window", window, "burst", 5)
				client.PExpire(t.Context(), key, life)
			}
			life := func() time.Duration { return client.PTTL(t.Context(), key).Val() }
			set(l.window, time.Hour)
			s.take(l, 5, true)
			if got := life(); got < 7*24*time.Hour {
				t.Errorf("%s: granted, the limit is kept for %v", name, got)
			}
			set(l.window, time.Hour)
			if r := s.take(l, 5, true); r.granted == 0 && life() > time.Hour {
				t.Errorf("%s: refused, the limit is kept for %v", name, life())
			} else if r.granted > 0 {
				t.Errorf("%s: 10 of 5 were granted", name)
			}
			set(l.window*10_000, time.Hour) // a week
			r := s.take(l, 5, true)
			if want := time.Duration(r.reset) * time.Microsecond; r.granted == 0 && life() < want {
				t.Errorf("%s: refuses until %v, the limit is kept for %v", name, want, life())
			}
			for _, broken := range s.failed {
				t.Errorf("%s: %s", name, broken)
			}
		}
	})
}
