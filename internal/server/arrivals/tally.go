package arrivals

import (
	"cmp"
	"time"
)

// KeptSeconds is for how many seconds a Tally keeps the counts: one day.
const KeptSeconds = 86_400

// A Tally summarizes arrivals without keeping them. However long it is used, it remembers only the arrivals of its
// longest window and the counts of the last KeptSeconds. Its results are those of MaxInWindow and PerSecond over all
// arrivals.
//
//	tally := arrivals.NewTally(time.Millisecond, time.Second)
//	tally.Add(srv.Take(srv.Now() - int64(100*time.Millisecond)))
//	worst := tally.Windows()
//
// It is not safe for concurrent use.
type Tally struct {
	total       int64
	first, last int64 // ns since 1970
	origin      int64 // where seconds begin, ns since 1970: the first arrival, or an earlier time

	windows []Window
	begins  []int   // for each window: index in recent where its latest position begins
	recent  []int64 // the arrivals that a window may still contain, and some before

	seconds []int64 // counts, a second each
	dropped int64   // number of seconds dropped before these
}

// A Window says how many arrivals came close together.
type Window struct {
	Length time.Duration `json:"window_ns"`
	Most   int           `json:"most"` // in any window of Length, as MaxInWindow counts
}

// NewTally returns an empty tally for windows of these lengths.
func NewTally(lengths ...time.Duration) *Tally {
	t := &Tally{begins: make([]int, len(lengths))}
	for _, length := range lengths {
		t.windows = append(t.windows, Window{Length: length})
	}
	return t
}

// Add adds arrivals, in ns since 1970. They must be sorted and not before those already added, as Server.Take returns
// them.
func (t *Tally) Add(arrivals []int64) {
	if t.total == 0 && len(arrivals) > 0 {
		t.first = arrivals[0]
		t.origin = cmp.Or(t.origin, t.first)
	}
	for _, at := range arrivals {
		t.total++
		t.last = at
		t.count((at - t.origin) / int64(time.Second))
		t.recent = append(t.recent, at)
		for i := range t.windows {
			w := &t.windows[i]
			for t.begins[i] < len(t.recent) && at-t.recent[t.begins[i]] > int64(w.Length) {
				t.begins[i]++
			}
			w.Most = max(w.Most, len(t.recent)-t.begins[i])
		}
	}
	t.forget()
}

// count counts an arrival in its second, which is the last or a later one.
func (t *Tally) count(second int64) {
	missing := second + 1 - t.dropped - int64(len(t.seconds))
	if missing >= KeptSeconds { // none of the counts so far is kept
		t.seconds, t.dropped = t.seconds[:0], second+1-KeptSeconds
		missing = KeptSeconds
	}
	for range missing {
		t.seconds = append(t.seconds, 0)
	}
	t.seconds[second-t.dropped]++
	if drop := len(t.seconds) - KeptSeconds; drop > KeptSeconds { // seldom, because it copies
		t.seconds = append(t.seconds[:0], t.seconds[drop:]...)
		t.dropped += int64(drop)
	}
}

// forget drops the arrivals that no window needs, if they are the majority: so each arrival is copied about once.
func (t *Tally) forget() {
	unused := len(t.recent)
	for _, begin := range t.begins {
		unused = min(unused, begin)
	}
	if unused <= len(t.recent)/2 {
		return
	}
	t.recent = append(t.recent[:0], t.recent[unused:]...)
	for i := range t.begins {
		t.begins[i] -= unused
	}
}

// Total returns how many arrivals were added.
func (t *Tally) Total() int64 { return t.total }

// First returns the first arrival, in ns since 1970; 0 = none yet.
func (t *Tally) First() int64 { return t.first }

// Last returns the last arrival, in ns since 1970; 0 = none yet.
func (t *Tally) Last() int64 { return t.last }

// MeanRate returns the arrivals per second between the first and the last one:
//
//	(total - 1) / (last - first)
//
// So a perfect grid of rate R has R. It is 0 if no time has passed between them.
func (t *Tally) MeanRate() float64 {
	if t.last == t.first {
		return 0
	}
	return float64(t.total-1) / time.Duration(t.last-t.first).Seconds()
}

// Windows returns the most arrivals in any window of each length, in the order of NewTally. It is a copy.
func (t *Tally) Windows() []Window { return append([]Window(nil), t.windows...) }

// PerSecond returns the counts of each second from the first arrival on, limited to the last KeptSeconds. from is the
// start of the first of these seconds, in ns since 1970. The last one contains the last arrival. The slice is valid
// until the next Add.
func (t *Tally) PerSecond() (from int64, counts []int64) {
	skip := max(0, len(t.seconds)-KeptSeconds)
	return t.origin + (t.dropped+int64(skip))*int64(time.Second), t.seconds[skip:]
}

// during returns the count of the second that begins at a time, in ns since 1970; 0 if it is not kept.
func (t *Tally) during(begins int64) int64 {
	i := (begins-t.origin)/int64(time.Second) - t.dropped
	if i < 0 || i >= int64(len(t.seconds)) {
		return 0
	}
	return t.seconds[i]
}
