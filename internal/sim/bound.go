package sim

import (
	"math"
	"slices"
	"time"
)

// windows finds the window of each length in which most was sent above what was asked for, and above the bound
//
//	∫R + 1 + one for each permit stream in it + R · (lateness + 2e), where the Redis clock was stepped, or another server has another one
//
// and one more where there is a permit stream: of n slots that give way to it at least n·f − 1 are yielded. A step comes
// with an e of at most half of H: nobody holds slots farther away.
// R being at least the sum of the permits in force, where the rate was changed, and one more for each change. What was fired after its generation's end, and
// on a permit whose successor was on its way, is left out of the latter: see overruns and early.
func (w *world) windows(s *schedule, all []moment, r *Result) {
	bound := s
	if len(w.plan.Commands) > 0 {
		bound = s.raised(streams(all))
	}
	counted := slices.DeleteFunc(slices.Clone(all), func(x moment) bool { return x.over || x.early > 0 })
	for _, length := range Windows() {
		excess, _ := s.worst(all, length, nil)
		over, at := bound.worst(counted, length, w.allowed)
		r.Excess, r.Over, r.At = append(r.Excess, excess), append(r.Over, over), append(r.At, time.Duration(at))
	}
}

// allowed is one for each change of the rate in [from, to], where it cuts a slot or the permits' streams in two, and what clock errors may
// add at a rate of most slots per ns.
func (w *world) allowed(from, to int64, most float64) (slots float64) {
	for _, o := range w.server.orders {
		if o.t0 <= to && o.t0 >= from-w.server.reach*1000 {
			slots++
		}
	}
	ns := 0.0
	for _, s := range w.plan.steps() {
		if s.By != 0 && int64(s.At) <= to && int64(s.At+time.Second) >= from {
			ns += float64(min(w.server.reach*1000, int64(s.By.Abs())))
		}
	}
	if len(w.plan.Steps) > 0 { // it is counted by when it was sent
		ns += float64(w.plan.Net.worst())
	}
	return slots + most*ns
}

// worst is by how much a window of this length exceeds the integral of the rate and 1, and where that ends. Where allowed is not nil, also
// that and what permit streams may add.
func (s *schedule) worst(times []moment, length time.Duration, allowed func(from, to int64, most float64) float64) (worst float64, where int64) {
	worst = math.Inf(-1)
	open := map[int64]int{} // sends in the window by stream
	first, most := 0, s.most()
	for i, x := range times {
		x.count(open, 1)
		for ; x.at-times[first].at >= int64(length); first++ {
			times[first].count(open, -1)
		}
		from := times[first].at
		asked := min(s.between(from, from+int64(length)), s.between(x.at-int64(length), x.at))
		over := float64(i-first+1) - asked - 1
		if allowed != nil {
			over -= float64(len(open)) + allowed(from, x.at, most)
			if len(open) > 0 {
				over--
			}
		}
		if over > worst {
			worst, where = over, x.at
		}
	}
	return worst, where
}

// count adds n to the number of sends in a window of the stream that x is of.
func (x moment) count(open map[int64]int, n int) {
	if x.phi == 0 {
		return
	}
	key := int64(x.member)<<32 | int64(x.stream)
	if open[key] += n; open[key] == 0 {
		delete(open, key)
	}
}

// number tells the streams of each member apart: one ends where a slot of it was not fired, and where the permit's rate changes.
func number(times []moment) {
	last := map[int32]moment{}
	for i, x := range times {
		if x.phi == 0 {
			continue
		}
		y, known := last[x.member]
		times[i].stream = y.stream
		if !known || x.phi != y.phi || float64(x.at-y.at) > 1.5e15/float64(y.phi) {
			times[i].stream++
		}
		last[x.member] = times[i]
	}
}

// streams is by how much the sum of the permits in force changes, and when.
func streams(times []moment) map[int64]float64 {
	last := map[int32]moment{}
	steps := map[int64]float64{0: 0}
	rate := func(x moment) float64 { return float64(x.phi) / 1e15 }
	end := func(x moment) { steps[x.at+int64(1/rate(x))] -= rate(x) }
	for _, x := range times {
		if x.phi == 0 {
			continue
		}
		if y, known := last[x.member]; !known || y.stream != x.stream || y.phi != x.phi {
			if known {
				end(y)
			}
			steps[x.at] += rate(x)
		}
		last[x.member] = x
	}
	for _, x := range last {
		end(x)
	}
	return steps
}
