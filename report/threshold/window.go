package threshold

import (
	"math"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/units"
)

// A Window is a part of a run by which thresholds are judged, or all of it.
type Window struct {
	At      int64   // its start, in seconds since the start of the run
	Seconds float64 // its length, as far as requests were sent in it

	Asked, Sent, OK, Failed int64
	Latency, Service, Lag   *record.Histogram // nil = unknown for this part
	FirstByte               *record.Histogram // likewise
	DNS, Connect, TLS       *record.Histogram // likewise
	Status                  map[string]int64  // likewise
	Streams                 record.Streams    // likewise; its histograms may be nil
	Judged, Good            int64             // answers that had goals, and those that met them all
	Value                   record.Value      // of the threshold's query
	Blind                   bool              // at the end of the window the query has had no answer for too long
	NotSent                 int64             // asked for and not sent

	Kept    float64 // share of the requests of this window that was not dropped late; dropped ones are slower than all others. 0 = 1
	Slower  int64   // requests slower than all others, of which some may belong here
	Unknown int64   // requests of which nothing is known; all of them may belong here
	Paused  bool    // the run was paused in a part of it
}

// Unbounded is a number of requests above all others, and exact as a float64.
const Unbounded = 1 << 53

// MarkPauses marks the points in which the run was paused: nothing was asked for in them, but two or more requests in a
// neighbouring point. (At a lower rate most points would look like pauses.) The pause began in the point before, and
// ended in the point after.
func MarkPauses(points []Window) {
	near := func(i int) bool { return i >= 0 && i < len(points) && points[i].Asked >= 2 }
	for begin := 0; begin < len(points); begin++ {
		end := begin
		for end < len(points) && points[end].Asked == 0 && points[end].Sent == 0 {
			end++
		}
		if end == begin {
			continue
		}
		if near(begin-2) || near(begin-1) || near(end) || near(end+1) {
			for i := max(0, begin-1); i < min(end+1, len(points)); i++ {
				points[i].Paused = true
			}
		}
		begin = end
	}
}

// judgesPaused reports whether a window that contains a pause can be judged by the threshold. It has too few requests
// for some.
func (t Threshold) judgesPaused() bool {
	return t.Metric != "rate" || t.Over == 0 || t.Op == "<" || t.Op == "<="
}

// add extends w by a neighbour. slower and unknown are the same in both: any of those requests may belong to either.
func (w *Window) add(o Window) {
	if o.At > w.At {
		w.Blind = o.Blind
	}
	w.Value.Add(o.Value)
	w.At = min(w.At, o.At)
	w.Seconds += o.Seconds
	w.Asked += o.Asked
	w.Sent += o.Sent
	w.OK += o.OK
	w.Failed += o.Failed
	w.Paused = w.Paused || o.Paused
	w.Latency.Merge(o.Latency)
	w.Judged += o.Judged
	w.Good += o.Good
	if o.Streams.IsZero() {
		return
	}
	if w.Streams.IsZero() { // its histograms may be nil
		w.Streams = o.Streams.Clone()
		return
	}
	w.Streams.Merge(&o.Streams)
}

func (w Window) clone() Window {
	w.Latency = w.Latency.Clone()
	if !w.Streams.IsZero() {
		w.Streams = w.Streams.Clone()
	}
	return w
}

// eachWindow calls judge for every run of size neighbours, in order. Each run is a suffix of one block of this size
// and a prefix of the next, so none is added up from scratch. size is at most the number of points.
func eachWindow(points []Window, size int, judge func(Window)) {
	for begin := 0; begin+size <= len(points); begin += size {
		suffix := make([]Window, size)
		suffix[size-1] = points[begin+size-1].clone()
		for i := size - 2; i >= 0; i-- {
			suffix[i] = suffix[i+1].clone()
			suffix[i].add(points[begin+i])
		}
		judge(suffix[0])
		next := points[begin+size:]
		if len(next) == 0 {
			return
		}
		prefix := next[0].clone()
		for i := 1; i < size && i <= len(next); i++ {
			if i > 1 {
				prefix.add(next[i-1])
			}
			suffix[i].add(prefix)
			judge(suffix[i])
		}
	}
}

// Read returns what is known of the value in this window.
func (w Window) Read(t Threshold) Reading {
	ended := w.OK + w.Failed
	switch t.Metric {
	case "latency":
		return w.times(t, w.Latency, w.share())
	case "service": // dropped requests have no service time
		return w.times(t, w.Service, 1)
	case "first_byte":
		return w.times(t, w.FirstByte, 1)
	case "first_event": // those of dropped requests would have come later than all others
		return w.times(t, w.Streams.FirstEvent, w.share())
	case "stream":
		return w.times(t, w.Streams.Stream, w.share())
	case "first_event_service":
		return w.sentOnly().times(t, w.Streams.Service, 1)
	case "event_gap":
		return w.gaps().times(t, w.Streams.Gap, 1)
	case "per_token":
		return w.sentOnly().times(t, w.Streams.PerToken, 1)
	case "events":
		return w.events(t)
	case "goodput":
		return w.part(t, w.Good, w.Judged)
	case "dns":
		return w.times(t, w.DNS, 1)
	case "connect":
		return w.times(t, w.Connect, 1)
	case "tls":
		return w.times(t, w.TLS, 1)
	case "lag":
		return w.times(t, w.Lag, w.share())
	case "errors":
		return w.part(t, w.Failed, ended)
	case "checks":
		return w.part(t, w.OK, ended)
	case "status":
		return w.part(t, w.answers(t.Code), ended)
	case "query":
		return w.value(t)
	case "dropped":
		if t.Aggregate == "count" {
			return Reading{none: w.Asked <= 0, shown: float64(w.NotSent), low: float64(max(0, w.NotSent-w.Unknown)), high: float64(w.NotSent)}
		}
		v, u := float64(w.NotSent), float64(w.Unknown)
		return Reading{none: w.Asked <= 0, shown: units.Ratio(v, float64(w.Asked)), low: units.Ratio(max(0, v-u), float64(w.Asked)), high: units.Ratio(v, float64(w.Asked))}
	default:
		per := 1.
		if t.Aggregate != "count" {
			per = w.Seconds
		}
		v, u := float64(w.Sent), float64(w.Unknown)
		return Reading{none: w.Seconds <= 0, shown: units.Ratio(v, per), low: units.Ratio(v, per), high: units.Ratio(v+u, per)}
	}
}

// sentOnly returns the window for times that only requests have that were sent.
func (w Window) sentOnly() Window {
	w.Slower = 0
	return w
}

// Goes reports whether the threshold is about gaps, and answers of before went on in the window.
func (w Window) Goes(t Threshold) bool {
	return t.Metric == "event_gap" && !w.Streams.IsZero() && w.Streams.Gap.Count() > 0
}

// gaps returns the window for gaps between events: an unknown request may have any number of them.
func (w Window) gaps() Window {
	if w.Slower = 0; w.Unknown > 0 {
		w.Unknown = Unbounded
	}
	return w
}

// events returns the number of events, or how many there were in a second. Each unknown request may have had any number.
func (w Window) events(t Threshold) Reading {
	per := 1.
	if t.Aggregate != "count" {
		per = w.Seconds
	}
	r := exactly(units.Ratio(float64(w.Streams.Events), per))
	r.none = w.Seconds <= 0 || w.Streams.Answers == 0
	if w.Unknown > 0 {
		r.high = math.Inf(1)
	}
	return r
}

func (w Window) share() float64 {
	if w.Kept == 0 {
		return 1
	}
	return w.Kept
}

// answers returns the number of answers with a status.
func (w Window) answers(code string) int64 {
	var n int64
	for status, count := range w.Status {
		hundred, all := strings.CutSuffix(code, "xx")
		if v, err := strconv.Atoi(status); code == "" || status == code || all && err == nil && strconv.Itoa(v/100) == hundred {
			n += count
		}
	}
	return n
}

// part returns n of all, as a number or a share. Of the unknown requests, none to all may belong to it.
func (w Window) part(t Threshold, n, all int64) Reading {
	v, u := float64(n), float64(w.Unknown)
	if t.Aggregate == "count" {
		return Reading{none: all == 0, shown: v, low: v, high: v + u}
	}
	total := float64(all)
	return Reading{none: all == 0, shown: units.Ratio(v, total), low: units.Ratio(v, total+u), high: units.Ratio(v+u, total+u)}
}

// times returns what is known of an aggregate of a histogram that holds the share kept of its requests. A quantile q of
// n values is, of all:
//
//	low:  q/kept − (1−q)·unknown/n        if the unknown ones are faster than all others
//	high: q/kept + q·(slower+unknown)/n   if all that may belong here does, and is slower; above 1 there is no bound
func (w Window) times(t Threshold, h *record.Histogram, kept float64) Reading {
	n := float64(h.Count())
	if n == 0 {
		return Reading{none: true}
	}
	slower, unknown := float64(w.Slower), float64(w.Unknown)
	open := kept < 1 || slower+unknown > 0
	switch t.Aggregate {
	case "avg":
		r := exactly(h.Mean())
		if open {
			r.low, r.high = h.Mean()*n/(n+unknown), math.Inf(1)
		}
		return r
	case "min":
		r := exactly(float64(h.Min()))
		if unknown > 0 {
			r.low = 0
		}
		return r
	case "max":
		return w.quantile(h, 1, kept, slower/n, unknown/n)
	default:
		return w.quantile(h, t.Quantile, kept, slower/n, unknown/n)
	}
}

// quantile returns the quantile described at times; slower and unknown are shares of what was measured.
func (w Window) quantile(h *record.Histogram, q, kept, slower, unknown float64) Reading {
	r := exactly(float64(h.Quantile(min(1, q/kept))))
	if low := q/kept - (1-q)*unknown; unknown > 0 && low <= 0 {
		r.low = 0
	} else if unknown > 0 {
		r.low = float64(h.Quantile(min(1, low)))
	}
	high := q/kept + q*(slower+unknown)
	if high > 1 {
		r.high = math.Inf(1)
	} else {
		r.high = float64(h.Quantile(high))
	}
	return r
}
