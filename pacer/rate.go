package pacer

import (
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Bounds of a rate. Beyond them the scripts' integer arithmetic is not exact.
const (
	maxRate = 100_000_000 // requests per second
	maxDen  = 1_000_000   // seconds
)

// Rate is an exact number of requests per second: Num requests every Den seconds. The zero value is no rate.
// ParseRate returns only rates with a Den of at least 1.
type Rate struct {
	Num, Den int64
}

// PerSecond returns the rate of n requests per second.
func PerSecond(n int64) Rate { return Rate{Num: n, Den: 1} }

// Float returns the rate in requests per second, for display.
func (r Rate) Float() float64 {
	if r.Den == 0 {
		return 0
	}
	return float64(r.Num) / float64(r.Den)
}

// String returns a form that ParseRate reads: "500", or "1/2s" where Den is not 1.
func (r Rate) String() string {
	if r.Den <= 1 {
		return fmt.Sprint(r.Num)
	}
	return fmt.Sprintf("%d/%ds", r.Num, r.Den)
}

// Text is for people, with its unit: 600 per second, 108.9 per second. Rates below 1 and those that need more than three
// digits after the point are fractions, as in 1/2s.
func (r Rate) Text() string {
	if r.Den <= 1 {
		return r.String() + " per second"
	}
	if r.Num < r.Den || 1000%r.Den != 0 {
		return r.String()
	}
	return strings.TrimRight(fmt.Sprintf("%d.%03d", r.Num/r.Den, r.Num%r.Den*(1000/r.Den)), "0") + " per second"
}

func (r Rate) rat() *big.Rat { return big.NewRat(r.Num, max(1, r.Den)) }

// MarshalText returns String, for JSON and flags.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads with ParseRate, for JSON and flags.
func (r *Rate) UnmarshalText(text []byte) error {
	parsed, err := ParseRate(string(text))
	if err == nil {
		*r = parsed
	}
	return err
}

// ParseRate reads a rate: "500", "2.5k", "1M", "0.2", or a count per time such as "500/s", "30/m" or "30/1d12h". It
// is exact: "0.1" is one request every ten seconds, not the nearest binary fraction. The range is 0 to 100 million
// per second, in steps of one per million seconds. The error for any other text says what to write.
func ParseRate(s string) (Rate, error) {
	count, per, counted := strings.Cut(s, "/")
	r, err := parseCount(count)
	if err != nil {
		return Rate{}, fmt.Errorf("rate %q: %w", clip(s), err)
	}
	if counted {
		d, err := ParseDuration(one(per))
		if err != nil || d == 0 {
			return Rate{}, fmt.Errorf("rate %q: write a time above zero after the slash, such as 30/m or 30/d", clip(s))
		}
		r.Quo(r, big.NewRat(int64(d), int64(time.Second)))
	}
	if r.Cmp(big.NewRat(maxRate, 1)) > 0 {
		return Rate{}, fmt.Errorf("rate %q: at most %d requests per second", clip(s), maxRate)
	}
	if r.Denom().Cmp(big.NewInt(maxDen)) > 0 {
		return Rate{}, fmt.Errorf("rate %q: too fine; use at most six decimals, or a count per time such as 30/m", clip(s))
	}
	return Rate{Num: r.Num().Int64(), Den: r.Denom().Int64()}, nil
}

// one puts the number before a unit that stands alone: "m" is "1m".
func one(per string) string {
	if per != "" && 'a' <= per[0] && per[0] <= 'z' {
		return "1" + per
	}
	return per
}

// parseCount reads a decimal number with an optional k or M. It takes no exponent, as "1e9" is mostly a slip.
func parseCount(s string) (*big.Rat, error) {
	digits, scale := s, int64(1)
	switch {
	case strings.HasSuffix(s, "k"):
		digits, scale = s[:len(s)-1], 1_000
	case strings.HasSuffix(s, "M"):
		digits, scale = s[:len(s)-1], 1_000_000
	}
	if strings.HasPrefix(digits, "-") {
		return nil, fmt.Errorf("a rate is not negative; write 500, 2.5k, 1M, 0.2 or 30/m")
	}
	if digits == "" || len(digits) > 24 || strings.Trim(digits, "0123456789.") != "" || strings.Count(digits, ".") > 1 || digits == "." {
		return nil, fmt.Errorf("not a number of requests per second; write 500, 2.5k, 1M, 0.2 or 30/m")
	}
	r, ok := new(big.Rat).SetString(digits)
	if !ok {
		return nil, fmt.Errorf("not a number of requests per second; write 500, 2.5k, 1M, 0.2 or 30/m")
	}
	return r.Mul(r, big.NewRat(scale, 1)), nil
}

// clip cuts a quoted argument to 40 bytes.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
