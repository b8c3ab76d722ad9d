package pacer

import "math/bits"

// Frames were the batches that slots were leased in. Pieces and laws are stored with the size of theirs, and no slot depends on it. What is
// left of them is that a ramp is divided where its rate doubles.
const (
	// frameTime is how much traffic one frame covers at most, µs.
	frameTime = 25_000
	// minFrame: no frame has fewer slots, but one that has one.
	minFrame = 8
	// maxFrame: no frame has more slots.
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
