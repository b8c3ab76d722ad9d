package ledger

import (
	"errors"
	"fmt"
	"strings"

	"github.com/loadctl/loadctl/pacer"
)

// unit is the time that rates of the ledger are counted in, seconds.
const unit = 1_000_000

// ParseRate reads a rate as --qps takes it, and returns it as the ledger has it: requests per 1,000,000 s.
func ParseRate(text string) (int64, error) {
	if strings.EqualFold(text, "max") {
		return 0, errors.New(`rate "max": a budget is a number of requests per second, such as 500 or 2.5k`)
	}
	r, err := pacer.ParseRate(text)
	switch {
	case err != nil:
		return 0, err
	case r.Num == 0:
		return 0, fmt.Errorf("rate %.40q: a budget is above zero; to stop all sending there: loadctl budget freeze HOST --why TEXT", text)
	case unit%r.Den != 0: // it has no common divisor with the number
		return 0, fmt.Errorf("rate %.40q: too exact for a budget, which is a whole number of requests per 1,000,000 s; use at most six decimals", text)
	}
	return r.Num * (unit / r.Den), nil
}

// RateOf returns a rate of the ledger in requests per second.
func RateOf(rate int64) pacer.Rate {
	a, b := rate, int64(unit)
	for b != 0 {
		a, b = b, a%b
	}
	return pacer.Rate{Num: rate / a, Den: unit / a}
}
