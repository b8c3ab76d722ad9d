package pacer

import (
	"context"
	"iter"
	"math/big"
	"time"

	"github.com/loadctl/loadctl/pacer/poisson"
)

// Slots returns the slots of the profile in order: the number of each, from 0 on, and its due time from the profile's
// start. An endless profile has endless slots. It is pure arithmetic, the same as in a fleet: slot k is due where the
// integral of the rate reaches k, or with a Seed the k-th place of a poisson.Process.
//
// Slots panics if the profile has no Pieces.
func (p Profile) Slots() iter.Seq2[int64, time.Duration] {
	pieces, err := p.Pieces()
	if err != nil {
		panic(err)
	}
	return func(yield func(int64, time.Duration) bool) {
		law, number := Law{Seed: p.Seed}, int64(0)
		for i := 0; i < len(pieces); {
			law = law.follow(pieces[i])
			for k := range law.K {
				if !yield(number, time.Duration(law.Due(k))) {
					return
				}
				number++
			}
			if i++; i == len(pieces) && p.Loop {
				i = 0
			}
		}
	}
}

// Pace yields the number and the due time of each slot when it is due. Time counts from the call of the iterator. It
// skips no slot. A loop body that takes longer than the time between two slots makes the next ones late, so start
// requests in goroutines. Pace returns at the end of the profile, or when ctx ends.
//
// How exactly Pace is on time depends on the system's timers: about 0.1 ms on Linux. Pace panics if the profile has
// no Pieces.
func (p Profile) Pace(ctx context.Context) iter.Seq2[int64, time.Time] {
	slots := p.Slots()
	return func(yield func(int64, time.Time) bool) {
		start, timer := time.Now(), time.NewTimer(0)
		defer timer.Stop()
		wait := func(after time.Duration) bool {
			timer.Reset(time.Until(start.Add(after)))
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			return ctx.Err() == nil
		}
		for number, due := range slots {
			if !wait(due) || !yield(number, start.Add(due)) {
				return
			}
		}
		wait(p.Length())
	}
}

// follow returns the law of the next piece. It begins where l ends, and at the same part of a slot.
//
//	C' = 10⁶·K + C − ∫ l, in millionths of a slot
func (l Law) follow(p Piece) Law {
	next := Law{T0: l.T0 + l.Dur, R0: p.R0, R1: p.R1, Den: p.Den, Dur: p.Dur, K: Endless, Seed: l.Seed}
	if l.Dur > 0 {
		next.Seed = poisson.Next(l.Seed)
		area := new(big.Int).Mul(big.NewInt(l.R0+l.R1), big.NewInt(l.Dur))
		area.Div(area, big.NewInt(2*l.Den))
		left := new(big.Int).Mul(big.NewInt(l.K), big.NewInt(remainderUnit))
		left.Add(left, big.NewInt(l.C)).Sub(left, area)
		next.C = min(max(left.Int64(), 0), remainderUnit-1)
	}
	switch {
	case p.Dur > 0:
		next.K = next.Asks(next.T0 + p.Dur)
	case p.R0 == 0:
		next.K = 0
	}
	return next
}
