package limit_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/lua"
)

const (
	second = int64(1_000_000) // µs
	day    = 86_400 * second
	epoch  = 1_763_744_400_123_457 // a time in 2025 with 16 digits, so that a lost digit shows
)

// law is a limit as the scripts know it; times are µs.
type law struct{ count, window, burst int64 }

func (l law) rate() float64 { return float64(l.count) / float64(l.window) }

// promise is what a limiter guarantees, in the words of docs/limiters.md.
type promise struct {
	script  string
	bucket  bool                           // it has a burst, and is exact for any rate
	queue   bool                           // granted permits are used later
	debt    bool                           // a call may take more than there is
	option  int64                          // ARGV[6]
	extra   func(l law, n float64) float64 // the x of R·W + x, n being the largest batch
	changed func(l law) float64            // how much a change of the rate may add to x
	most    func(l law) int64              // the most that one instant can grant
}

func window(x float64) func(law, float64) float64 {
	return func(l law, _ float64) float64 { return x * float64(l.count) }
}

func promises() map[string]promise {
	count := func(l law) int64 { return l.count }
	burst := func(l law) int64 { return l.burst }
	more := func(l law) float64 { return float64(l.count) } // what a change of the window's length forgets
	none := func(law) float64 { return 0 }
	held := func(l law, _ float64) float64 { return float64(l.burst) }
	return map[string]promise{
		"fixed-window":    {script: "fixed_window", extra: window(2), changed: more, most: count},
		"fixed-window NX": {script: "fixed_window", option: 1, extra: window(2), changed: more, most: count},
		"sliding-log":     {script: "sliding_log", extra: window(1), changed: more, most: count},
		"sliding-list":    {script: "sliding_list", extra: window(1), changed: more, most: count},
		"sliding-window":  {script: "sliding_window", option: 10, extra: window(1.2), changed: more, most: count},
		"leaky-bucket": {
			script: "leaky_bucket", bucket: true, queue: true, most: burst, changed: none,
			// Waits and the times in record are rounded up to a whole µs.
			extra: func(l law, _ float64) float64 { return 1 + 2*l.rate() },
		},
		"token-bucket": {script: "token_bucket", bucket: true, extra: held, changed: none, most: burst},
		"token-bucket debt": {
			script: "token_bucket", bucket: true, debt: true, option: 1, changed: none,
			extra: func(l law, n float64) float64 { return float64(l.burst) + n },
			most:  func(law) int64 { return math.MaxInt64 },
		},
		"gcra": {script: "gcra", bucket: true, extra: held, changed: none, most: burst},
	}
}

// subject is a script under test on one server, with a time of its own.
type subject struct {
	promise
	t      *testing.T
	client rdb.Client
	redis  *redis.Script
	key    int
	now    int64 // µs, TIME
	skew   int64 // error of the caller's clock; scripts must ignore it
	failed []string
}

// virtual returns a script that gets the time from the test: only its one TIME call is replaced.
func virtual(t *testing.T, text string) *redis.Script {
	t.Helper()
	if n := strings.Count(text, "redis.call('TIME')"); n != 1 {
		t.Fatalf("the script reads the clock %d times", n)
	}
	return redis.NewScript(strings.Replace(text, "redis.call('TIME')", "{ ARGV[8], ARGV[9] }", 1))
}

func newSubject(t *testing.T, client rdb.Client, p promise, text string) *subject {
	return &subject{promise: p, t: t, client: client, redis: virtual(t, text), now: epoch}
}

// rounds returns how often to try: n times, or a fifth of that on an embedded server, which is slow; half of that with
// -short. TestDefects shows that it is enough.
func (s *subject) rounds(n int) int {
	if testing.Short() {
		n /= 2
	}
	if strings.Contains(s.t.Name(), "embedded") {
		return n / 5
	}
	return n
}

// fresh switches to a key that was never used.
func (s *subject) fresh() { s.key++ }

func (s *subject) keys() []string {
	return []string{fmt.Sprintf("{k%d}state", s.key), fmt.Sprintf("{k%d}limit", s.key)}
}

// fail notes that the promise was broken.
func (s *subject) fail(format string, args ...any) {
	s.failed = append(s.failed, fmt.Sprintf(format, args...))
}

// reply is the reply of a script.
type reply struct{ granted, remaining, retry, reset, at int64 }

// raw makes a call with any arguments.
func (s *subject) raw(args ...any) (any, error) {
	return s.redis.Run(s.t.Context(), s.client, s.keys(),
		append(args, s.now/second, s.now%second, s.now+s.skew)...).Result()
}

// take makes a correct call. Anything that is not a reply is a broken promise.
func (s *subject) take(l law, n int64, all bool) reply {
	mode := 0
	if all {
		mode = 1
	}
	got, err := s.raw(n, mode, l.count, l.window, l.burst, s.option, s.now%1000)
	if err != nil {
		s.fail("%+v, %d permits: %v", l, n, err)
		return reply{retry: 1}
	}
	fields, _ := got.([]any)
	var f []int64
	for _, x := range fields { // the scripts in testdata do not say when they were called
		if v, ok := x.(int64); ok && v >= 0 {
			f = append(f, v)
		}
	}
	if len(f) < 4 || len(fields) != len(f) {
		s.fail("the reply is %v, not four integers or five", got)
		return reply{retry: 1}
	}
	r := reply{f[0], f[1], f[2], f[3], append(f, 0)[4]}
	waits := n > 0 && r.granted == 0 || (r.granted < n && !s.queue) // for permits that a queue grants, retry is the wait
	if r.granted > n || all && r.granted != 0 && r.granted != n || waits && r.retry == 0 || !waits && r.retry > 0 && !s.queue && n > 0 {
		s.fail("%d permits, all: %v: %+v makes no sense", n, all, r)
	}
	return r
}

func (s *subject) contents() map[string]string {
	s.t.Helper()
	return redistest.Contents(s.t, s.client)
}

// grant is one permit: the time at which it may be used, µs, and the law that granted it. In a list of laws it is a
// law, and when that took effect.
type grant struct {
	at  int64
	law law
}

// record adds the permits of a reply at the times at which they may be used.
func (s *subject) record(all []grant, l law, at int64, r reply) []grant {
	for i := range r.granted {
		due := at
		if s.queue { // the last one goes after the wait; the others go before it, 1/rate apart
			due = at + int64(math.Ceil(float64(r.retry)-float64(r.granted-1-i)/l.rate()-1e-6))
		}
		all = append(all, grant{due, l})
	}
	return all
}

// within checks the bound in every window of these lengths. laws are the laws, each with the time at which it took
// effect.
func (s *subject) within(grants []grant, laws []grant, batch int64, lengths ...int64) {
	slices.SortStableFunc(grants, func(a, b grant) int { return int(a.at - b.at) })
	for _, w := range lengths {
		first := 0
		for last := range grants {
			for grants[last].at-grants[first].at > w {
				first++
			}
			// The shortest window that contains these permits, and each law that was in force in it.
			span := grants[last].at - grants[first].at
			bound := s.bound(laws, grants[first].at, grants[last].at, float64(span), float64(batch))
			if got := last - first + 1; float64(got) > bound+1e-6 {
				s.fail("%d permits within %d µs, at most %.3f were promised for %+v", got, span, bound, grants[first].law)
				return
			}
		}
	}
}

// bound returns R·W + x, each for the largest law in force, plus what changes add.
func (s *subject) bound(laws []grant, from, to int64, span, batch float64) float64 {
	var rate, extra, changes float64
	for i, x := range laws {
		ended := i+1 < len(laws) && laws[i+1].at < from
		if x.at > to || ended {
			continue
		}
		rate, extra = max(rate, x.law.rate()), max(extra, s.extra(x.law, batch))
		if i > 0 && x.at >= from {
			changes += max(s.changed(x.law), s.changed(laws[i-1].law))
		}
	}
	return rate*span + extra + changes
}

// of returns the subject for a limiter, by its name in promises.
func of(t *testing.T, client rdb.Client, name string) *subject {
	p := promises()[name]
	return newSubject(t, client, p, lua.Text(p.script))
}

// setLimit calls the script that sets a limit.
func setLimit(t *testing.T, client rdb.Client, args ...any) error {
	t.Helper()
	return lua.SetLimit().Run(t.Context(), client, []string{"limit"}, args...).Err()
}
