package pacer

import "math/bits"

// Frames spread a contiguous range of numbers over time. Within a frame of F = 2^p slots the numbers
// are handed out in bit-reversed order (van der Corput sequence, base 2), so that any contiguous part
// of a frame is nearly evenly spaced, with gaps of less than 3 times the ideal, and less than twice where
// the part begins or ends with the frame, while the frame as a whole is every slot once.
const (
	// frameTime is how much traffic one frame covers at most, µs.
	frameTime = 25_000
	// minFrame: below this many slots a frame spreads nothing, and the order is plain.
	minFrame = 8
	// maxFrame bounds the work of counting inside one frame.
	maxFrame = 4096
)

// frameSize is F for a piece whose lowest rate is r per den seconds: the largest power of two of slots that takes
// no longer than frameTime, or 1 where that is less than minFrame.
func frameSize(r, den int64) int64 {
	slots := r * (frameTime / 1000) / (den * 1000)
	if slots < minFrame {
		return 1
	}
	return min(maxFrame, int64(1)<<(bits.Len64(uint64(slots))-1))
}

// bitrev reverses the low bits of x, for a frame of F = 2^p slots.
func bitrev(x, f int64) int64 {
	p := bits.TrailingZeros64(uint64(f))
	return int64(bits.Reverse64(uint64(x)) >> (64 - p))
}

// SlotOf is the slot that number a of the generation stands for:
//
//	slot(a) = frame(a)·F + bitrev_p(a mod F)
//
// The last frame of a generation, when K cuts it short, is in plain order, so that the map stays a
// bijection of [0, K).
func (l Law) SlotOf(a int64) int64 {
	base := a &^ (l.F - 1)
	if l.F == 1 || base+l.F > l.K {
		return a
	}
	return base + bitrev(a-base, l.F)
}
