package pacer

import (
	"fmt"
	"math/big"
	"time"
)

// Steps returns a staircase: from, from+by, … up or down to to, each for every.
func Steps(from, to, by Rate, every time.Duration) (Profile, error) {
	at, end, step := from.rat(), to.rat(), by.rat()
	if step.Sign() == 0 {
		return Profile{}, fmt.Errorf("by=0 never leads from %v to %v; give a step above zero", from, to)
	}
	direction := end.Cmp(at)
	if direction < 0 {
		step.Neg(step)
	}
	var p Profile
	for n := 0; ; n++ {
		if n == maxPieces {
			return Profile{}, fmt.Errorf("more than %d steps; make them larger", maxPieces)
		}
		if !at.Num().IsInt64() || at.Denom().Cmp(big.NewInt(maxDen)) > 0 {
			return Profile{}, fmt.Errorf("by=%v is too fine; use fewer decimals", by)
		}
		r := Rate{Num: at.Num().Int64(), Den: at.Denom().Int64()}
		p.Segments = append(p.Segments, Segment{From: r, To: r, Length: every})
		at.Add(at, step)
		if c := end.Cmp(at); c != direction && c != 0 || direction == 0 {
			return p, nil
		}
	}
}

func parseSteps(s settings) (Profile, error) {
	var rates [3]Rate
	for i, name := range []string{"from", "to", "by"} {
		r, err := s.rate(name)
		if err != nil {
			return Profile{}, err
		}
		rates[i] = r
	}
	every, err := s.duration("every")
	if err != nil {
		return Profile{}, err
	}
	return Steps(rates[0], rates[1], rates[2], every)
}
