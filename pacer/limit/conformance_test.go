package limit_test

import (
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/lua"
)

// checks is the suite. Each check runs on every limiter. Each defect of testdata fails the check that is named there.
func checks() map[string]func(*subject) {
	return map[string]func(*subject){
		"bound":     checkBound,
		"changes":   checkChanges,
		"back":      checkBack,
		"exact":     checkExact,
		"instant":   checkInstant,
		"refused":   checkRefused,
		"keys":      checkKeys,
		"memory":    checkMemory,
		"hostile":   checkHostile,
		"never":     checkNever,
		"revalued":  checkRevalued,
		"remaining": checkRemaining,
		"undone":    checkUndone,
		"look":      checkLook,
	}
}

// TestConformance: every limiter keeps every promise, on a real and on an embedded server.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name := range promises() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, client rdb.Client) {
				for check, run := range checks() {
					s := of(t, client, name)
					run(s)
					for _, broken := range s.failed[:min(3, len(s.failed))] {
						t.Errorf("%s: %s", check, broken)
					}
					if err := client.FlushAll(t.Context()).Err(); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

func laws() []law {
	return []law{
		{1, day, 1}, {100, day, 7}, {7, 3 * second, 3}, {100, second, 20}, {1000, second, 1}, {999_983, second, 40}, {1000, 1000, 1000}, {10, 10_000, 30},
	}
}

// random numbers, the same in each run.
func random(s *subject) *rand.Rand { return rand.New(rand.NewPCG(7, uint64(len(s.script)))) }

// gap returns a random time between two calls: often none, sometimes an idle one.
func gap(r *rand.Rand, l law) int64 {
	switch x := r.IntN(20); {
	case x < 7:
		return 0
	case x < 17:
		return r.Int64N(3*l.window/l.count + 1)
	case x < 19:
		return r.Int64N(l.window + 1)
	}
	return r.Int64N(4 * l.window)
}

// batch returns a random number of permits, mostly few, and whether all are wanted.
func (s *subject) batch(r *rand.Rand, l law) (int64, bool) {
	n := 1 + r.Int64N(4)
	if r.IntN(5) == 0 {
		n = 1 + r.Int64N(min(s.most(l), 300))
	}
	all := r.IntN(2) == 0
	if all {
		n = min(n, s.most(l))
	}
	return n, all
}

func lengths(l law) []int64 {
	return []int64{0, 1000, 10_000, 100_000, second, l.window / 10, l.window, 3 * l.window, 10 * l.window}
}

// checkBound makes random batches with random gaps, from clients whose clocks are wrong. The bound holds in all
// windows.
func checkBound(s *subject) {
	r := random(s)
	for _, l := range laws() {
		s.fresh()
		var grants []grant
		for range s.rounds(150) {
			s.now += gap(r, l)
			s.skew = []int64{-25_000, 25_000}[r.IntN(2)]
			n, all := s.batch(r, l)
			grants = s.record(grants, l, s.now, s.take(l, n, all))
		}
		s.within(grants, []grant{{0, l}}, 300, lengths(l)...)
	}
}

// checkChanges does the same while rate and burst change all the time.
func checkChanges(s *subject) {
	r := random(s)
	for range 4 {
		s.fresh()
		l := law{100, second, 20}
		var grants []grant
		inForce := []grant{{0, l}}
		for range s.rounds(200) {
			s.now += gap(r, l)
			if r.IntN(8) == 0 {
				l = law{1 + r.Int64N(200), []int64{100_000, second, 3 * second}[r.IntN(3)], 1 + r.Int64N(50)}
				inForce = append(inForce, grant{s.now, l})
				// Waiting callers keep their times. So each law is checked with the callers who got their times under it.
				if s.queue {
					s.within(grants, inForce[len(inForce)-2:len(inForce)-1], 300, lengths(l)...)
					grants = nil
				}
			}
			n, all := s.batch(r, l)
			grants = s.record(grants, l, s.now, s.take(l, n, all))
		}
		if s.queue {
			inForce = inForce[len(inForce)-1:]
		}
		s.within(grants, inForce, 300, lengths(law{100, second, 20})...)
	}
}

// checkBack: a clock that goes back and forth creates no permits. The test's time stands still until the clock has
// caught up with the last grant, and the bound holds by that time.
func checkBack(s *subject) {
	r := random(s)
	for _, l := range laws() {
		s.fresh()
		var grants []grant
		latest := int64(0)
		for range s.rounds(150) {
			if s.now += gap(r, l); r.IntN(4) == 0 {
				s.now -= r.Int64N(2*l.window + 2)
			}
			n, all := s.batch(r, l)
			got := s.take(l, n, all)
			if got.granted > 0 {
				latest = max(latest, s.now)
			}
			grants = s.record(grants, l, latest, got)
		}
		s.within(grants, []grant{{0, l}}, 300, lengths(l)...)
		s.now = max(s.now, latest)
	}
}

// checkExact: a caller that must come back in so many µs is served then, and not 1 µs sooner. In the long run nothing
// is lost.
func checkExact(s *subject) {
	for _, l := range laws() {
		if !s.bucket && l.count > 100 {
			continue // too many calls until it is full
		}
		s.fresh()
		begin, total := s.now, int64(0)
		for range s.rounds(15) {
			r := s.take(l, 1, true)
			for ; r.granted == 1; r = s.take(l, 1, true) {
				if total++; total > 5000 {
					s.fail("%+v: there is no end of permits", l)
					return
				}
			}
			s.now += r.retry - 1
			s.skew = 25_000 // a clock that is ahead gains nothing
			if s.take(l, 1, true).granted == 1 {
				s.fail("%+v: granted 1 µs before retry_after", l)
				total++
			}
			s.now++
			s.skew = -25_000
			if s.take(l, 1, true).granted != 1 {
				s.fail("%+v: not granted after retry_after", l)
				return
			}
			total++
		}
		// The permits that the elapsed time allowed: R·t, and for buckets also the burst.
		passed := new(big.Int).Mul(big.NewInt(s.now-begin), big.NewInt(l.count))
		want := passed.Div(passed, big.NewInt(l.window)).Int64()
		if s.bucket {
			want += l.burst
		}
		if total < want || s.bucket && total != want {
			s.fail("%+v: %d permits in %d µs, want %d", l, total, s.now-begin, want)
		}
		s.now += 7
	}
}

// checkInstant: repeated calls in one instant get what there is, and no more.
func checkInstant(s *subject) {
	for _, l := range []law{{10, second, 4}, {10, 3, 4}, {1, day, 1}, {300, second, 250}} {
		for _, n := range []int64{1, 3} {
			s.fresh()
			total := int64(0)
			for range 310 {
				got := s.take(l, n, false).granted
				if total += got; got == 0 {
					break
				}
			}
			want := s.most(l)
			if s.debt { // a caller that finds a token gets all that it wants
				want = (l.burst + n - 1) / n * n
			}
			if total != want {
				s.fail("%+v: %d permits in an instant, %d at a time, want %d", l, total, n, want)
			}
			s.now += 2 * l.window
		}
	}
}

// checkRefused: calls that get nothing change nothing, not even the lifetime.
func checkRefused(s *subject) {
	s.fresh()
	l := law{5, 60 * second, 5}
	for range 2 {
		s.take(l, 5, true)
	}
	before, life := s.contents(), s.client.PTTL(s.t.Context(), s.keys()[0]).Val()
	for range 20 {
		s.now += 100
		if s.take(l, 3, true).granted > 0 {
			s.fail("more than the limit is granted")
		}
	}
	if !maps.Equal(before, s.contents()) {
		s.fail("a refused call has changed %v to %v", before, s.contents())
	}
	if now := s.client.PTTL(s.t.Context(), s.keys()[0]).Val(); now > life {
		s.fail("refused calls keep the key alive: %v, before %v", now, life)
	}
}

// checkKeys: scripts use only the given keys. The lifetime of each is neither shorter nor much longer than its use.
func checkKeys(s *subject) {
	for _, l := range laws() {
		s.fresh()
		s.skew = 50
		r := s.take(l, 1, false)
		s.now += l.window / 3
		if next := s.take(l, 1, false); next.granted == 1 {
			r = next
		}
		all := slices.Collect(maps.Keys(s.contents()))
		if !slices.Equal(all, s.keys()[:1]) {
			s.fail("%+v: the keys are %v, given was %v", l, all, s.keys())
		}
		for _, key := range all {
			life, use := s.client.PTTL(s.t.Context(), key).Val().Milliseconds(), r.reset/1000
			if most := max(use, l.window/1000) + 10_001; life < use || life > most {
				s.fail("%+v: %s lives for %d ms, its use for %d", l, key, life, use)
			}
		}
		s.client.Del(s.t.Context(), all...)
		s.skew = 0
	}
}

// checkMemory: the state does not grow with time. Only where docs/limiters.md says so does it grow with count.
func checkMemory(s *subject) {
	s.fresh()
	l := law{10, second, 10}
	for range s.rounds(1500) {
		s.now += second / 37
		s.take(l, 1, false)
	}
	size := 0
	for _, text := range s.contents() {
		size += len(text)
	}
	if size > 1000 {
		s.fail("%d bytes after all these calls", size)
	}
}

// checkHostile: an impossible argument is an error and changes nothing.
func checkHostile(s *subject) {
	s.fresh()
	right := []any{1, 1, 10, second, 10, s.option, 0}
	s.take(law{10, second, 10}, 2, true)
	before := s.contents()
	for position := range right {
		for _, bad := range []any{"-1", "", "x", "nan", "inf", "-inf", "1e3", "0x10", "1.5", " 1", "9007199254740993", "99999999999999999999", "0"} {
			if bad == "0" && (position <= 1 || position >= 5) {
				continue // these arguments may be 0
			}
			args := slices.Clone(right)
			args[position] = bad
			if got, err := s.raw(args...); err == nil {
				s.fail("argument %d is %q: %v, no error", position+1, bad, got)
			}
		}
	}
	for _, bad := range []string{"nan", "-5", "0", "x"} {
		if err := s.client.HSet(s.t.Context(), s.keys()[1], "count", bad, "window", second, "burst", 1).Err(); err != nil {
			s.t.Fatal(err)
		}
		if got, err := s.raw(right...); err == nil {
			s.fail("a limit of %q was set: %v, no error", bad, got)
		}
		s.client.Del(s.t.Context(), s.keys()[1])
	}
	if after := s.contents(); !maps.Equal(before, after) {
		s.fail("refused calls have changed %v to %v", before, after)
	}
}

// checkNever: a fresh limiter grants at once the most that it can ever grant. A request for one more is an error at
// once.
func checkNever(s *subject) {
	for _, l := range laws() {
		if s.most(l) > 1_000_000 {
			continue // a limiter with debt has no such number
		}
		s.fresh()
		if got, err := s.raw(s.most(l)+1, 1, l.count, l.window, l.burst, s.option, 0); err == nil {
			s.fail("%+v: %d permits: %v, no error", l, s.most(l)+1, got)
		}
		if n := min(s.most(l), 2000); s.take(l, n, true).granted != n {
			s.fail("%+v: %d permits of a fresh limiter are not granted", l, n)
		}
	}
}

// checkRevalued: a change of the rate keeps the debt in permits, whatever the time each was worth.
func checkRevalued(s *subject) {
	slow, fast := law{10, day, 10}, law{10_000, second, 10}
	if !s.bucket {
		slow, fast = law{10, second, 10}, law{15, second, 15}
	}
	s.fresh()
	s.take(slow, 10, true)
	if s.bucket {
		if r := s.take(fast, 1, true); r.granted == 0 {
			s.now += r.retry
		}
		if r := s.take(fast, 1, true); r.granted != 1 || r.reset > 2000 {
			s.fail("the debt of the slow rate takes %d µs to pay back at the fast one, %d granted", r.reset, r.granted)
		}
	} else if got := s.take(fast, 15, false).granted; got != 5 {
		s.fail("after 10 of 10 the limit became 15: %d more are granted", got)
	}
	s.fresh()
	s.take(fast, 4, true)
	if got := s.take(slow, 10, false).granted; got != 6 && !s.debt {
		s.fail("after 4 permits at the fast rate the slow one grants %d, want 6", got)
	}
}

// checkRemaining: the reported remainder can be taken, and not one more.
func checkRemaining(s *subject) {
	r := random(s)
	for _, l := range laws() {
		s.fresh()
		for range s.rounds(30) {
			s.now += gap(r, l)
			left := s.take(l, 1+r.Int64N(min(5, s.most(l))), false).remaining
			if left > 300 || s.debt {
				continue
			}
			if got := s.take(l, left+3, false).granted; got != left {
				s.fail("%+v: %d remain, %d are granted", l, left, got)
			}
		}
	}
}

// TestLostState: if Redis has lost a state, the limiter is fresh. Half a state cannot occur. A key of another type is
// an error.
func TestLostState(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		for name := range promises() {
			s := of(t, client, name)
			s.key = len(name) * 100
			l := law{10, second, 10}
			s.take(l, 10, true)
			if n := client.Del(t.Context(), s.keys()...).Val(); n != 1 {
				t.Errorf("%s has %d keys", name, n)
			}
			if got := s.take(l, 10, true).granted; got != 10 {
				t.Errorf("%s: %d granted by a fresh limiter", name, got)
			}
			client.Del(t.Context(), s.keys()...)
			client.Set(t.Context(), s.keys()[0], "text", 0)
			if got, err := s.raw(1, 1, 10, second, 10, s.option, 0); err == nil {
				t.Errorf("%s: its key is a text: %v, no error", name, got)
			}
		}
	})
}

// TestYears: a bucket that is used now and then for thirty years is exact to the µs at the end.
func TestYears(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		for _, name := range []string{"leaky-bucket", "token-bucket", "gcra"} {
			s := of(t, client, name)
			s.key = len(name)
			l := law{1, 7 * day, 3}
			s.take(l, 3, true)
			begin := s.now
			weeks := int64(s.rounds(1500))
			// Calls come three days late and three days early in turn. Nothing is lost, because the bucket is never full.
			for k := int64(1); k <= weeks; k++ {
				s.now = begin + k*7*day + (k%2)*3*day
				if got := s.take(l, 1, true).granted; got != 1 {
					t.Fatalf("%s: week %d: %d granted", name, k, got)
				}
			}
			if r := s.take(l, 1, true); r.granted != 0 || r.retry != 7*day {
				t.Errorf("%s: after %d weeks %+v, want to wait for exactly a week", name, weeks, r)
			}
			for _, broken := range s.failed {
				t.Error(name, broken)
			}
		}
	})
}

// TestGiveBack: the last call can be given back once, and the state is then as before it. A call with others queued
// behind it cannot be given back.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) {
		s := of(t, client, "leaky-bucket")
		l := law{10, second, 10}
		back := func(name int) int64 {
			t.Helper()
			n, err := giveBack(s, name, epoch, map[int]int64{1: 2, 2: 3}[name]).Int64()
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		queue := func(n int64, name int) {
			t.Helper()
			if got, err := s.raw(n, 1, l.count, l.window, l.burst, 0, name); err != nil {
				t.Fatalf("%v, %v", got, err)
			}
			s.now += 1000
		}
		if n := back(1); n != 0 {
			t.Errorf("%d given back to a limiter that was never used", n)
		}
		queue(2, 1)
		before := fmt.Sprint(s.contents())
		queue(3, 2)
		if n := back(1); n != 0 {
			t.Errorf("%d of the first call given back, behind which others are", n)
		}
		for i, want := range []int64{3, 0, 0} {
			if n := back(2); n != want {
				t.Errorf("time %d: %d given back, want %d", i, n, want)
			}
		}
		// The two permits of the first call go before it, and 2 ms have passed.
		if r := s.take(l, 1, true); r.retry != 200_000-2000 {
			t.Errorf("after 3 of 5 were given back: %+v; state before %s", r, before)
		}
		for position := range 3 {
			for _, bad := range []any{"", "x", -1, 1.5} {
				args := []any{1, epoch, 1}
				args[position] = bad
				if _, err := giveBack(s, args...).Result(); err == nil {
					t.Errorf("argument %d is %v: no error", position+1, bad)
				}
			}
		}
	})
}

// giveBack calls the script.
func giveBack(s *subject, args ...any) *redis.Cmd {
	return lua.GiveBack(s.script).Run(s.t.Context(), s.client, []string{s.keys()[0], s.keys()[0] + fmt.Sprint("back", args[0])}, args...)
}

// checkUndone: what is given back at once leaves the limiter as if it had never been granted, and a repetition gives
// back nothing. The bound holds for the permits that are used.
func checkUndone(s *subject) {
	r := random(s)
	for _, l := range laws() {
		s.fresh()
		var used []grant
		var late reply
		for name := range s.rounds(60) {
			s.now += gap(r, l)
			before := s.peek(l)
			n, all := s.batch(r, l)
			got := s.take(l, n, all)
			rest := min(got.granted, r.Int64N(4))
			if rest > 0 {
				back, err := giveBack(s, s.now%1000, got.at, rest).Int64()
				if err != nil || back != rest {
					s.fail("%+v: %d of %d given back, error %v", l, back, rest, err)
				}
				if again, err := giveBack(s, s.now%1000, got.at, rest).Int64(); err != nil || again != 0 {
					s.fail("%+v: repetition %d: %d given back, error %v", l, name, again, err)
				}
				s.client.Del(s.t.Context(), s.keys()[0]+fmt.Sprint("back", s.now%1000))
				if after := s.peek(l); !s.queue && after.remaining+got.granted-rest != before.remaining && !s.debt {
					s.fail("%+v: %d remained, %d were granted and %d given back, now %d remain", l, before.remaining, got.granted, rest, after.remaining)
				}
			}
			if got.granted -= rest; !s.queue {
				used = s.record(used, l, s.now, got)
			}
			if late.granted > 0 && r.IntN(3) == 0 { // others may have taken since
				back, err := giveBack(s, 1000+name, late.at, late.granted).Int64()
				if err != nil {
					s.fail("%+v: give back %+v: %v", l, late, err)
				}
				used = slices.DeleteFunc(used, func(x grant) bool {
					unused := x.at == late.at && back > 0
					if unused {
						back--
					}
					return unused
				})
				late = reply{}
			} else if !s.queue && got.granted > 0 {
				late = got
			}
		}
		s.within(used, []grant{{0, l}}, 300, lengths(l)...)
	}
}

// peek only looks.
func (s *subject) peek(l law) reply { return s.take(l, 0, true) }

// checkLook: who looks changes nothing.
func checkLook(s *subject) {
	for _, l := range laws() {
		s.fresh()
		for range 3 {
			before := s.contents()
			if r := s.peek(l); r.granted > 0 || r.remaining == 0 && r.retry == 0 {
				s.fail("%+v: a look sees %+v", l, r)
			}
			if !maps.Equal(before, s.contents()) {
				s.fail("%+v: a look has changed %v to %v", l, before, s.contents())
			}
			s.take(l, min(s.most(l), 100), false)
			s.now += l.window / 7
		}
		s.client.Del(s.t.Context(), s.keys()...)
	}
}
