package spec

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/limit"
)

// SlotsLimiter is the default limiter: only the schedule. With a burst it is a limiter in addition to the schedule,
// as the others are.
const SlotsLimiter = "gcra"

// DefaultWindow is the window of limiters that count in windows.
const DefaultWindow = time.Second

// MaxBurst is the largest burst that the scripts accept.
const MaxBurst = 1_000_000_000

// After a refusal a worker asks again after 5 ms at the earliest. To lose nothing, a bucket must hold what the rate
// makes in two such times. A window must be as long as four of them.
const (
	leastBurst  = 100 // as a part of a second: 10 ms
	leastWindow = 20 * time.Millisecond
)

// The windows in which the scripts can count.
const (
	minWindow = time.Microsecond
	maxWindow = 366 * 24 * time.Hour
)

// ErrLimiter says that the run's limiter does not allow a change.
var ErrLimiter = errors.New("the run's limiter does not allow it")

// HasLimiter reports whether grants must pass a limiter in addition to the schedule.
func (s Spec) HasLimiter() bool { return s.Limiter != "" && (s.Limiter != SlotsLimiter || s.Burst > 0) }

// window returns the window of a limiter that counts in windows.
func (s Spec) window() time.Duration { return cmp.Or(s.Window, DefaultWindow) }

// options returns the options of the limiter.
func (s Spec) options() (all []limit.Option) {
	if s.ExpireNX {
		all = append(all, limit.ExpireNX())
	}
	if s.Debt {
		all = append(all, limit.Debt())
	}
	return all
}

// LimiterSettings returns the settings of the limiter for the scripts. The spec must be valid.
func (s Spec) LimiterSettings() limit.Settings {
	known, _ := limit.Check(s.Limiter, limit.PerWindow(1, time.Second), s.options()...)
	return known
}

// inForce returns the burst of a bucket at a rate. A burst of 0 is what the rate makes in half a second.
func inForce(rate pacer.Rate, burst int64) int64 {
	return cmp.Or(burst, max(1, rate.Num/max(1, rate.Den)/2))
}

// decimal writes a rate as people do: 0.3, or 1/3s if six decimals are not enough.
func decimal(r pacer.Rate) string {
	if r.Den <= 1 || 1_000_000%r.Den != 0 {
		return r.String()
	}
	return strings.TrimRight(big.NewRat(r.Num, r.Den).FloatString(6), "0")
}

// checkRate returns why the limiter cannot follow a rate, or nil. A bucket must count the rate and the burst exactly.
// In a window the rate must make a whole number of requests. A burst of 0 is what the rate makes in half a second. At
// a rate of 0 nothing is granted.
func (s Spec) checkRate(rate pacer.Rate, burst int64) error {
	switch {
	case rate.Num == 0:
		return nil
	case s.LimiterSettings().Bursts:
		r := big.NewRat(rate.Num, rate.Den)
		l := limit.PerWindow(r.Num().Int64(), time.Duration(r.Denom().Int64())*time.Second)
		l.Burst = inForce(rate, burst)
		if _, err := limit.Check(s.Limiter, l, s.options()...); err != nil {
			return fmt.Errorf("a burst of %d at %s requests per second cannot be counted exactly; give a smaller burst, or a rate with fewer decimals",
				l.Burst, decimal(rate))
		}
		return nil
	default:
		return s.checkWindow(rate)
	}
}

// checkWindow returns why a window cannot hold what the rate makes in it, and which rates it can hold.
func (s Spec) checkWindow(rate pacer.Rate) error {
	window := big.NewRat(s.window().Microseconds(), time.Second.Microseconds())
	count := new(big.Rat).Mul(big.NewRat(rate.Num, rate.Den), window)
	if count.Cmp(big.NewRat(MaxBurst, 1)) > 0 {
		return fmt.Errorf("%s requests per second are more than %d in a window of %v; give a lower rate", decimal(rate), MaxBurst, s.window())
	}
	if count.IsInt() {
		return nil
	}
	below := new(big.Int).Quo(count.Num(), count.Denom())
	near := perSecond(new(big.Int).Add(below, big.NewInt(1)), window)
	if below.Sign() > 0 {
		near = perSecond(below, window) + " or " + near
	}
	return fmt.Errorf("%s requests per second are no whole number in a window of %v; give %s", decimal(rate), s.window(), near)
}

// perSecond returns the rate of count requests in a window, as ParseRate reads it.
func perSecond(count *big.Int, window *big.Rat) string {
	r := new(big.Rat).Quo(new(big.Rat).SetInt(count), window)
	if new(big.Int).Mod(big.NewInt(1_000_000), r.Denom()).Sign() != 0 {
		return fmt.Sprintf("%s/%v", count, time.Duration(new(big.Rat).Mul(window, big.NewRat(1_000_000, 1)).Num().Int64())*time.Microsecond)
	}
	return strings.TrimSuffix(strings.TrimRight(r.FloatString(6), "0"), ".")
}

// Warning says in one line why the limiter may not let the whole rate pass, and which setting is enough; "" = it does.
// burst is the one in force.
func (s Spec) Warning(rate pacer.Rate, burst int64) string {
	if !s.HasLimiter() || rate.Num == 0 || s.Debt { // with a debt one token is enough
		return ""
	}
	const why = "some of %s/s may be lost: workers ask at most every 5ms, and a %s of %v may be used up before; a %s of %v is enough"
	if s.LimiterSettings().Bursts {
		burst = inForce(rate, burst)
		enough := (rate.Num + leastBurst*rate.Den - 1) / (leastBurst * rate.Den)
		if burst >= enough {
			return ""
		}
		return fmt.Sprintf(why, decimal(rate), "burst", burst, "burst", enough)
	}
	if s.window() >= leastWindow {
		return ""
	}
	// The rate makes whole numbers in multiples of the shortest window, in µs.
	shortest := big.NewRat(rate.Num, rate.Den*time.Second.Microseconds()).Denom().Int64()
	enough := (leastWindow.Microseconds() + shortest - 1) / shortest * shortest
	return fmt.Sprintf(why, decimal(rate), "window", s.window(), "window", time.Duration(enough)*time.Microsecond)
}

// LimiterConfig returns the limiter's settings as lua/grant.lua reads them.
func (s Spec) LimiterConfig() string {
	known := s.LimiterSettings()
	even, together, window := 0, 0, s.window().Microseconds()
	if known.Queues {
		even = 1
	}
	if s.Together {
		together = 1
	}
	if known.Bursts {
		window = 0
	}
	return fmt.Sprintf("%d:%d:%d:%d:%d", s.Burst, window, known.Option, even, together)
}

// LimiterText describes the limiter, with the burst in force at a rate; "" = only the schedule.
func (s Spec) LimiterText(rate pacer.Rate, burst int64) string {
	if !s.HasLimiter() {
		return ""
	}
	words := []string{s.Limiter}
	add := func(on bool, text string) {
		if on {
			words = append(words, text)
		}
	}
	bursts := s.LimiterSettings().Bursts
	add(!bursts, fmt.Sprintf("window %v", s.window()))
	add(bursts, fmt.Sprintf("burst %d", inForce(rate, burst)))
	add(s.ExpireNX, "expire nx")
	add(s.Debt, "debt")
	add(s.Together, "not spread")
	return strings.Join(words, ", ")
}

// validateLimiter checks the limiter and its settings.
func (s Spec) validateLimiter() error {
	if !s.HasLimiter() {
		return s.validateSlots()
	}
	named, flag := "--limiter "+s.Limiter, "--limiter"
	if s.Limiter == SlotsLimiter { // --burst alone selects it
		named, flag = "--burst", "--burst"
	}
	known, err := limit.Check(s.Limiter, limit.PerWindow(1, time.Second))
	switch {
	case err != nil:
		return fmt.Errorf("--limiter %.40q: write one of %s", s.Limiter, strings.Join(limit.Names(), ", "))
	case s.Max:
		return fmt.Errorf("%s and %s: without a rate there is nothing to limit; give a rate, or leave %s out", named, s.Loop(), flag)
	case len(s.Stages) > 0 || s.Profile != "":
		return fmt.Errorf("%s and --stage or --profile: a limiter has one rate, which loadctl set-rate changes; give --qps alone, or leave %s out", named, flag)
	case s.Burst < 0 || s.Burst > MaxBurst:
		return fmt.Errorf("--burst: give a number from 1 to %d", MaxBurst)
	case s.Burst > 0 && !known.Bursts:
		return fmt.Errorf("--burst and %s: it counts in windows; give --window, or take token-bucket, leaky-bucket or gcra", named)
	case s.Window != 0 && known.Bursts:
		return fmt.Errorf("--window and %s: a burst needs no window; leave --window out, or take fixed-window, sliding-log, sliding-list or sliding-window", named)
	case s.Window < 0 || s.Window%minWindow != 0 || s.Window > maxWindow:
		return fmt.Errorf("--window %v: give a time from 1µs to 366 days, in whole µs, such as 1s", s.Window)
	case s.Together && known.Queues:
		return fmt.Errorf("--spread=false and %s: it lets out one after the other; leave --spread out, or take token-bucket", named)
	case s.ExpireNX && s.Limiter != "fixed-window":
		return fmt.Errorf("--expire nx and %s: only fixed-window has it; leave --expire out", named)
	case s.Debt && s.Limiter != "token-bucket":
		return fmt.Errorf("--debt and %s: only token-bucket has it; leave --debt out", named)
	}
	if err := s.checkRate(s.QPS, s.Burst); err != nil {
		return fmt.Errorf("%s: %w%s", named, err, s.otherWindow())
	}
	return nil
}

// otherWindow suggests a window in which the rate makes a whole number.
func (s Spec) otherWindow() string {
	if s.LimiterSettings().Bursts {
		return ""
	}
	seconds := big.NewRat(s.QPS.Num, s.QPS.Den).Denom().Int64()
	if s.QPS.Num >= MaxBurst || time.Duration(seconds)*time.Second == s.window() {
		return ""
	}
	return fmt.Sprintf(", or another --window, such as %ds", seconds)
}

// validateSlots refuses settings that the schedule alone does not have.
func (s Spec) validateSlots() error {
	for _, x := range []struct {
		given bool
		flag  string
	}{{s.Window != 0, "--window"}, {s.Together, "--spread=false"}, {s.ExpireNX, "--expire"}, {s.Debt, "--debt"}} {
		if x.given {
			return fmt.Errorf("%s: the slots of a run, gcra without a burst, have no such thing; leave %s out, or take another --limiter, such as token-bucket or fixed-window",
				x.flag, x.flag)
		}
	}
	if s.Burst != 0 {
		return fmt.Errorf("--burst: give a number from 1 to %d", MaxBurst)
	}
	return nil
}

// CheckChange refuses a change that the limiter cannot follow. burst is the one in force after the change.
func (s Spec) CheckChange(what, name string, rate pacer.Rate, burst int64, over time.Duration) error {
	if !s.HasLimiter() {
		return nil
	}
	if over > 0 {
		return fmt.Errorf("%s %s: %w: --limiter %s has one rate at a time; leave --over out", what, name, ErrLimiter, s.Limiter)
	}
	if err := s.checkRate(rate, burst); err != nil {
		return fmt.Errorf("%s %s: %w: --limiter %s: %w", what, name, ErrLimiter, s.Limiter, err)
	}
	return nil
}
