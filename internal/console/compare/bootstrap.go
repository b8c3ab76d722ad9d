package compare

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

const (
	samples     = 200 // the error itself is then known to 5 %
	leastBlocks = 4
)

// A second is one point of a series.
type second struct {
	length           float64 // how much of it is in the run, in s: the last answers come after the end of the run
	sent, ok, failed float64
	events, tokens   float64 // of answers in pieces
	judged, good     float64 // answers that had goals, and those that met them
	buckets          [kinds][]bucket
}

// kinds is the number of kinds of times.
const kinds = 5

// values are the lower edges of the buckets of each kind, in ns, ascending.
type values [kinds][]float64

type bucket struct {
	place int // index in the list of values
	count float64
}

// A sample is the sum of some seconds.
type sample struct {
	length           float64
	sent, ok, failed float64
	events, tokens   float64
	judged, good     float64
	counts           [kinds][]float64 // of each kind, by index
	values           values
}

// newSample returns an empty sample for these values.
func newSample(v values) *sample {
	s := &sample{values: v}
	for kind := range v {
		s.counts[kind] = make([]float64, len(v[kind]))
	}
	return s
}

// reset empties the sample.
func (s *sample) reset() {
	*s = sample{counts: s.counts, values: s.values}
	for _, counts := range s.counts {
		clear(counts)
	}
}

func (s *sample) add(t second) {
	s.length += t.length
	s.sent += t.sent
	s.ok += t.ok
	s.failed += t.failed
	s.events += t.events
	s.tokens += t.tokens
	s.judged += t.judged
	s.good += t.good
	for kind, buckets := range t.buckets {
		for _, b := range buckets {
			s.counts[kind][b.place] += b.count
		}
	}
}

// mean returns the mean time of a kind.
func (s *sample) mean(kind int) float64 {
	sum, n := 0.0, 0.0
	for i, c := range s.counts[kind] {
		sum, n = sum+c*s.values[kind][i], n+c
	}
	return sum / max(1, n)
}

// quantile returns the bucket that the share q of all times of a kind does not exceed.
func (s *sample) quantile(kind int, q float64) float64 {
	n := 0.0
	for _, c := range s.counts[kind] {
		n += c
	}
	seen := 0.0
	for i, c := range s.counts[kind] {
		if seen += c; seen > 0 && seen >= q*n {
			return s.values[kind][i]
		}
	}
	return 0
}

// secondsOf returns the seconds of a run, and the values of their buckets.
func secondsOf(r report.Report) (all []second, edges values) {
	all = make([]second, len(r.Series))
	for i, p := range r.Series {
		length := min(float64(r.SeriesWidthS), max(0, r.DurationS-float64(p.T)))
		all[i] = second{length: length, sent: float64(p.Sent), ok: float64(p.OK), failed: float64(p.Failed)}
	}
	if r.Histograms == nil {
		return all, edges
	}
	for _, p := range r.Histograms.Series {
		of := p.Streamed()
		s := &all[p.Index]
		s.events, s.tokens, s.judged, s.good = float64(of.Events), float64(of.TokensOut), float64(p.Judged), float64(p.Good)
	}
	for kind, of := range times() {
		edges[kind] = fillBuckets(all, r.Histograms.Series, kind, of)
	}
	return all, edges
}

// fillBuckets sets the buckets of a kind in each second. It returns their values.
func fillBuckets(all []second, series []record.Point, kind int, of timed) []float64 {
	seen := map[int64]bool{}
	for _, p := range series {
		for value := range of.points(p).Buckets() {
			seen[value] = true
		}
	}
	edges := slices.Sorted(maps.Keys(seen))
	for _, p := range series {
		for value, n := range of.points(p).Buckets() {
			place, _ := slices.BinarySearch(edges, value)
			all[p.Index].buckets[kind] = append(all[p.Index].buckets[kind], bucket{place, float64(n)})
		}
	}
	values := make([]float64, len(edges))
	for i, edge := range edges {
		values[i] = float64(edge)
	}
	return values
}

// An estimate is a figure, on the scale on which it is compared.
type estimate struct {
	mean    float64
	plain   float64 // the figure itself; of several runs their geometric mean, of shares the mean
	err     float64 // its standard error
	freedom float64 // degrees of freedom of the error
	why     string  // why there is no error; "" = there is one
}

// ofRun estimates each figure from one run.
func ofRun(r report.Report, all []figure) []estimate {
	seconds, values := secondsOf(r)
	length := blockLength(seconds, values[latency])
	n := float64(len(seconds))
	errs := spread(seconds, values, length, all)
	result := make([]estimate, len(all))
	correlations := map[string]float64{} // what slows requests down slows all of them, so the percentile that shows it best stands for all of its kind
	for _, f := range all {
		correlations[f.group()] = max(correlations[f.group()], correlation(f.bySecond(seconds, values)))
	}
	for i, f := range all {
		hidden, tau := beyondBlocks(correlations[f.group()], len(seconds), length)
		result[i] = estimate{
			mean:    f.scale(f.whole(r)),
			plain:   f.whole(r),
			err:     math.Hypot(errs[i]*hidden, f.resolution(r)),
			freedom: max(leastBlocks, min(n/float64(length), n/tau)) - 1,
			why:     f.why(r, n/float64(length)),
		}
	}
	return result
}

// spread returns the standard deviation of each figure by the moving-block bootstrap. It builds the run again and again
// from blocks of this many seconds, taken from anywhere in it, so consecutive seconds stay together. The spread of the
// figure over these builds is its error, as far as blocks show it: see beyondBlocks.
func spread(seconds []second, v values, length int, all []figure) []float64 {
	errs := make([]float64, len(all))
	n := len(seconds)
	if float64(n) < leastBlocks*float64(length) {
		return errs
	}
	rng := rand.New(rand.NewPCG(uint64(n), 1)) // so that the same reports give the same result
	s := newSample(v)
	sums, squares, counted := make([]float64, len(all)), make([]float64, len(all)), make([]float64, len(all))
	for range samples {
		s.reset()
		for taken := 0; taken < n; taken += length {
			from := rng.IntN(n - length + 1)
			for _, t := range seconds[from : from+min(length, n-taken)] {
				s.add(t)
			}
		}
		for i, f := range all {
			if x := f.scale(f.part(s)); !math.IsInf(x, 0) && !math.IsNaN(x) {
				sums[i], squares[i], counted[i] = sums[i]+x, squares[i]+x*x, counted[i]+1
			}
		}
	}
	for i := range all {
		mean := sums[i] / max(1, counted[i])
		errs[i] = math.Sqrt(max(0, squares[i]/max(1, counted[i])-mean*mean))
	}
	return errs
}

// bySecond returns the figure of each single second that has one.
func (f figure) bySecond(seconds []second, v values) []float64 {
	s := newSample(v)
	var x []float64
	for _, t := range seconds {
		s.reset()
		s.add(t)
		if v := f.scale(f.part(s)); t.length > 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
			x = append(x, v)
		}
	}
	return x
}

// beyondBlocks returns how much larger the error is than blocks show, and the memory τ of the series. The variance of a
// mean of m seconds is σ²·τ(m)/m. If a second resembles the one before with correlation ρ, and so on,
//
//	τ(m) = 1 + 2·Σ (1 − k/m)·ρ^k,  k = 1 … m−1
//
// The true value is τ(n)/n. Blocks of length L of n seconds, around the mean of all, show (τ(L) − L/n·τ(n))/n of it.
func beyondBlocks(rho float64, n, length int) (factor, tau float64) {
	if n <= length {
		return 1, 1
	}
	whole := ar1(rho, n)
	return math.Sqrt(whole / max(0.01, ar1(rho, length)-float64(length)/float64(n)*whole)), (1 + rho) / (1 - rho)
}

// correlation returns the correlation of each number of a series with the one before, 0 to 0.95. In a series of n the
// naive estimate is too low by (1 + 4ρ)/n (Kendall); correlation corrects that.
func correlation(x []float64) float64 {
	n, mean := float64(len(x)), 0.0
	for _, v := range x {
		mean += v / n
	}
	all, next := 0.0, 0.0
	for i, v := range x {
		all += (v - mean) * (v - mean)
		if i > 0 {
			next += (v - mean) * (x[i-1] - mean)
		}
	}
	if all == 0 || n < 6 {
		return 0
	}
	rho := min(1, max(0, (n*next/all+1)/(n-4)))
	return min(0.95, rho+math.Sqrt((1-rho*rho)/n))
}

// ar1 returns τ(m) for a correlation ρ < 1.
func ar1(rho float64, m int) float64 {
	sum, power := 1.0, 1.0
	for k := 1; k < m && power > 1e-9; k++ {
		power *= rho
		sum += 2 * (1 - float64(k)/float64(m)) * power
	}
	return sum
}

// blockLength returns how many seconds are kept together: several times the memory of the mean latency,
//
//	τ = 1 + 2·Σ ρ(k), while ρ(k) is larger than chance explains,
//
// and at least ∛n and n/6: a memory that is weak beside the noise of single seconds shows only in long blocks.
func blockLength(seconds []second, values []float64) int {
	n := len(seconds)
	x := make([]float64, 0, n)
	for _, s := range seconds {
		sum, count := 0.0, 0.0
		for _, b := range s.buckets[latency] {
			sum, count = sum+b.count*values[b.place], count+b.count
		}
		if count > 0 {
			x = append(x, math.Log(max(1, sum/count)))
		}
	}
	const times, mostBlocks = 4, 6
	length := max(float64(n)/mostBlocks, math.Cbrt(float64(n)), times*memory(x))
	return max(1, min(int(math.Ceil(length)), n/leastBlocks))
}

// memory returns τ of a series of numbers.
func memory(x []float64) float64 {
	n := len(x)
	mean := 0.0
	for _, v := range x {
		mean += v / float64(n)
	}
	covariance := func(lag int) float64 {
		sum := 0.0
		for i := lag; i < n; i++ {
			sum += (x[i] - mean) * (x[i-lag] - mean)
		}
		return sum
	}
	tau, all := 1.0, covariance(0)
	for lag := 1; lag < n/leastBlocks && all > 0; lag++ {
		rho := covariance(lag) / all
		if rho < 2/math.Sqrt(float64(n)) {
			break
		}
		tau += 2 * rho
	}
	return tau
}

// pool returns the estimate of a side. Several runs show themselves how they differ; the error is at least that within
// each run.
func pool(runs []estimate) estimate {
	k := float64(len(runs))
	p := estimate{}
	within, freedom := 0.0, 0.0
	for _, r := range runs {
		p.mean += r.mean / k
		within += r.err * r.err / (k * k)
		freedom += r.freedom
		if p.why == "" {
			p.why = r.why
		}
	}
	p.err, p.freedom = math.Sqrt(within), freedom
	if len(runs) < 2 {
		return p
	}
	between := 0.0
	for _, r := range runs {
		between += (r.mean - p.mean) * (r.mean - p.mean) / (k - 1) / k
	}
	if between > within {
		p.err, p.freedom = math.Sqrt(between), k-1
	}
	return p
}

// student returns the quantile p > 0.5 of Student's t with this many degrees of freedom. It is exact for 1 and 2; above
// that it uses the expansion of Cornish and Fisher in 1/freedom.
func student(p, freedom float64) float64 {
	switch {
	case freedom < 1.5:
		return math.Tan(math.Pi * (p - 0.5))
	case freedom < 2.5:
		a := 4 * p * (1 - p)
		return (2*p - 1) * math.Sqrt(2/a)
	}
	z := math.Sqrt2 * math.Erfinv(2*p-1)
	z3, z5, z7 := z*z*z, math.Pow(z, 5), math.Pow(z, 7)
	z9 := math.Pow(z, 9)
	v := freedom
	return z + (z3+z)/(4*v) + (5*z5+16*z3+3*z)/(96*v*v) + (3*z7+19*z5+17*z3-15*z)/(384*v*v*v) +
		(79*z9+776*z7+1482*z5-1920*z3-945*z)/(92160*v*v*v*v)
}
