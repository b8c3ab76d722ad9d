package pacer

import (
	"sort"
)

// A Timeline finds the laws of an instant by binary search: a day of a profile has a hundred thousand, and a report
// asks for each of its points. Laws are in the order of their ids. That is the order of time, except if the Redis
// clock was set back. So begins and ends are bounds over all laws on one side.
type Timeline struct {
	laws   []Law
	cuts   []int64 // how many slots of each law are before its cut
	sums   []int64 // sums of the cuts of all laws before
	begins []int64 // the earliest T0 of this law and all after it, µs
	ends   []int64 // when this law and all before it ask for nothing more, µs
}

// NewTimeline returns the Timeline of laws, of which cuts says how many slots each has before its cut.
func NewTimeline(laws []Law, cuts []int64) Timeline {
	n := len(laws)
	t := Timeline{laws: laws, cuts: cuts, sums: make([]int64, n+1), begins: make([]int64, n), ends: make([]int64, n)}
	for i, l := range laws {
		t.sums[i+1] = t.sums[i] + cuts[i]
		t.ends[i] = lawEnd(l, cuts[i])
		if i > 0 {
			t.ends[i] = max(t.ends[i], t.ends[i-1])
		}
	}
	for i := n - 1; i >= 0; i-- {
		t.begins[i] = laws[i].T0
		if i < n-1 {
			t.begins[i] = min(t.begins[i], t.begins[i+1])
		}
	}
	return t
}

// lawEnd returns when a law has no slot left before its cut, µs: its planned end, or a little after its last slot.
func lawEnd(l Law, cut int64) int64 {
	if cut <= 0 {
		return l.T0
	}
	end := l.Due(cut-1)/1000 + 1000 // Due and Before round differently
	if l.Dur > 0 {
		end = min(end, l.T0+l.Dur)
	}
	return end
}

// At returns the index of the law in force at an instant, in µs: the newest that has begun. Before the first law it
// is −1.
func (t Timeline) At(us int64) int {
	return sort.Search(len(t.begins), func(i int) bool { return t.begins[i] > us }) - 1
}

// Before returns how many slots are due before an instant, in µs.
func (t Timeline) Before(us int64) int64 {
	i := t.At(us)
	if i < 0 {
		return 0
	}
	return t.sums[i] + min(t.cuts[i], t.laws[i].Before(us))
}

// Between returns how many slots are due in [from, to), µs. If the clock was set back, two laws may ask for the same
// time.
func (t Timeline) Between(from, to int64) (n int64) {
	first := sort.Search(len(t.ends), func(i int) bool { return t.ends[i] > from })
	for i := first; i < len(t.laws) && t.begins[i] < to; i++ {
		l, cut := t.laws[i], t.cuts[i]
		n += min(cut, l.Before(to)) - min(cut, l.Before(from))
	}
	return n
}
