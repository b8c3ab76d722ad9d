package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// A window is a part of a run by which thresholds are judged, or all of it.
type window struct {
	at      int64   // its start, in seconds since the start of the run
	seconds float64 // its length, as far as requests were sent in it

	asked, sent, ok, failed int64
	latency, service, lag   *Histogram       // nil = unknown for this part
	status                  map[string]int64 // likewise
	notSent                 int64            // asked for and not sent

	kept    float64 // share of the requests of this window that was not dropped late; dropped ones are slower than all others. 0 = 1
	slower  int64   // requests slower than all others, of which some may belong here
	unknown int64   // requests of which nothing is known; all of them may belong here
	paused  bool    // the run was paused in a part of it
}

// whole returns the run as one window.
func (r *Report) whole() window {
	w := window{
		seconds: r.DurationS, asked: r.Asked, sent: r.Audit.Sent, ok: r.Audit.Completed, failed: r.Audit.Failed, status: r.StatusCodes,
		notSent: max(0, r.Audit.Asked+r.Audit.Overrun-r.Audit.Sent-r.held()),
		kept:    r.Audit.kept(), slower: r.OutOfRange, unknown: r.unknown(),
	}
	if h := r.Histograms; h != nil {
		w.latency, w.service, w.lag = h.Latency, h.Service, h.Lag
	}
	return w
}

// held returns how many slots of a run that goes on are not decided yet.
func (r *Report) held() int64 {
	if r.Running {
		return r.Audit.Held
	}
	return 0
}

// unknown returns how many requests may have been sent, or have ended, without being counted. A worker that Redis has
// forgotten and that did not report sent no more than what was skipped or not granted: its slots are counted there.
func (r *Report) unknown() int64 {
	a := r.Audit
	switch {
	case r.Complete || r.Running:
		return 0
	case r.ClosedLoop: // nobody counted requests before they were sent
		return noBound
	case slices.ContainsFunc(r.Workers, func(w WorkerReport) bool { return w.State == "alone" }): // it is unknown who else took part
		return noBound
	}
	return a.Lost + a.Held + max(0, a.InFlight) + a.Skipped + a.Ungranted
}

// noBound is a number of requests above all others, and exact as a float64.
const noBound = 1 << 53

// windowsFrom returns the series from a second on, a window for each point.
func (r *Report) windowsFrom(width, from int64) []window {
	var all []window
	latency := make(map[int64]*Histogram)
	if r.Histograms != nil {
		for _, p := range r.Histograms.Series {
			latency[p.Index*width] = p.Latency
		}
	}
	unknown := r.unknown() + r.pointsLack()
	for _, s := range r.Series {
		if s.T < from {
			continue
		}
		h := latency[s.T]
		if h == nil {
			h = newPoint(0, 1).Latency
		}
		all = append(all, window{
			at: s.T, seconds: min(float64(width), max(0, r.DurationS-float64(s.T))), asked: s.Asked, sent: s.Sent, ok: s.OK, failed: s.Failed, latency: h,
			slower: r.Audit.LateDropped + r.OutOfRange, unknown: unknown,
		})
	}
	markPauses(all)
	return all
}

// markPauses marks the points in which the run was paused: nothing was asked for in them, but two or more requests in a
// neighbouring point. (At a lower rate most points would look like pauses.) The pause began in the point before, and
// ended in the point after.
func markPauses(points []window) {
	near := func(i int) bool { return i >= 0 && i < len(points) && points[i].asked >= 2 }
	for begin := 0; begin < len(points); begin++ {
		end := begin
		for end < len(points) && points[end].asked == 0 && points[end].sent == 0 {
			end++
		}
		if end == begin {
			continue
		}
		if near(begin-2) || near(begin-1) || near(end) || near(end+1) {
			for i := max(0, begin-1); i < min(end+1, len(points)); i++ {
				points[i].paused = true
			}
		}
		begin = end
	}
}

// judgesPart tells whether a window that contains a pause can be judged by the threshold. It has too few requests for
// some.
func (t Threshold) judgesPart() bool {
	return t.Metric != "rate" || t.Over == 0 || t.Op == "<" || t.Op == "<="
}

// pointsLack returns how many counted requests are in no point of the series, because Redis has lost points: those sent
// or those ended, whichever are more.
func (r *Report) pointsLack() int64 {
	sent, ended := r.Audit.Sent, r.Audit.Completed+r.Audit.Failed
	for _, p := range r.Series {
		sent -= p.Sent
		ended -= p.OK + p.Failed
	}
	return max(0, sent, ended)
}

// add extends w by a neighbour. slower and unknown are the same in both: any of those requests may belong to either.
func (w *window) add(o window) {
	w.at = min(w.at, o.at)
	w.seconds += o.seconds
	w.asked += o.asked
	w.sent += o.sent
	w.ok += o.ok
	w.failed += o.failed
	w.paused = w.paused || o.paused
	w.latency.Merge(o.latency)
}

func (w window) clone() window {
	w.latency = w.latency.clone()
	return w
}

// slide calls judge for every run of size neighbours, in order. Each run is a suffix of one block of this size and a
// prefix of the next, so none is added up from scratch. size is at most the number of points.
func slide(points []window, size int, judge func(window)) {
	for begin := 0; begin+size <= len(points); begin += size {
		suffix := make([]window, size)
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

// read returns what is known of the value in this window.
func (w window) read(t Threshold) reading {
	ended := w.ok + w.failed
	switch t.Metric {
	case "latency":
		return w.times(t, w.latency, w.share())
	case "service": // dropped requests have no service time
		return w.times(t, w.service, 1)
	case "lag":
		return w.times(t, w.lag, w.share())
	case "errors":
		return w.part(t, w.failed, ended)
	case "checks":
		return w.part(t, w.ok, ended)
	case "status":
		return w.part(t, w.answers(t.Code), ended)
	case "dropped":
		if t.Aggregate == "count" {
			return reading{none: w.asked <= 0, shown: float64(w.notSent), low: float64(max(0, w.notSent-w.unknown)), high: float64(w.notSent)}
		}
		v, u := float64(w.notSent), float64(w.unknown)
		return reading{none: w.asked <= 0, shown: ratio(v, float64(w.asked)), low: ratio(max(0, v-u), float64(w.asked)), high: ratio(v, float64(w.asked))}
	default:
		per := 1.
		if t.Aggregate != "count" {
			per = w.seconds
		}
		v, u := float64(w.sent), float64(w.unknown)
		return reading{none: w.seconds <= 0, shown: ratio(v, per), low: ratio(v, per), high: ratio(v+u, per)}
	}
}

func (w window) share() float64 {
	if w.kept == 0 {
		return 1
	}
	return w.kept
}

// answers returns the number of answers with a status.
func (w window) answers(code string) int64 {
	var n int64
	for status, count := range w.status {
		hundred, all := strings.CutSuffix(code, "xx")
		if v, err := strconv.Atoi(status); code == "" || status == code || all && err == nil && strconv.Itoa(v/100) == hundred {
			n += count
		}
	}
	return n
}

// part returns n of all, as a number or a share. Of the unknown requests, none to all may belong to it.
func (w window) part(t Threshold, n, all int64) reading {
	v, u := float64(n), float64(w.unknown)
	if t.Aggregate == "count" {
		return reading{none: all == 0, shown: v, low: v, high: v + u}
	}
	total := float64(all)
	return reading{none: all == 0, shown: ratio(v, total), low: ratio(v, total+u), high: ratio(v+u, total+u)}
}

// times returns what is known of an aggregate of a histogram that holds the share kept of its requests. A quantile q of
// n values is, of all:
//
//	low:  q/kept − (1−q)·unknown/n        if the unknown ones are faster than all others
//	high: q/kept + q·(slower+unknown)/n   if all that may belong here does, and is slower; above 1 there is no bound
func (w window) times(t Threshold, h *Histogram, kept float64) reading {
	n := float64(h.Count())
	if n == 0 {
		return reading{none: true}
	}
	slower, unknown := float64(w.slower), float64(w.unknown)
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
func (w window) quantile(h *Histogram, q, kept, slower, unknown float64) reading {
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
