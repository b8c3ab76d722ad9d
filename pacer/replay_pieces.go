package pacer

import (
	"math/big"
	"time"
)

// leastPiece is the shortest piece of a replay, µs. Scripts make the laws of the next ten seconds ahead of time, one for
// each piece. With pieces of 10 ms a call took 20 ms of Redis' time, and slots were skipped.
const leastPiece = 100_000

// step is a stretch of a file in which one rate holds.
type step struct {
	requests *big.Int // in 10⁻¹² of a request: a rate in millionths, times µs
	length   int64    // µs of the file
	line     int      // where it begins; 0 = no line says so
}

// steps joins neighbours of one rate. It keeps no more than a plan may have, and counts all.
type steps struct {
	all []step
	n   int
	now step // the last one, which may still grow
}

// add appends a stretch.
func (s *steps) add(next step) {
	if s.n > 0 && sameRate(s.now, next) {
		s.extend(next)
		return
	}
	s.end()
	s.now = next
	s.n++
}

// extend makes the last step longer: its rate becomes the mean of both.
func (s *steps) extend(by step) {
	s.now.requests.Add(s.now.requests, by.requests)
	s.now.length += by.length
}

// end keeps the last step.
func (s *steps) end() {
	if s.n > 0 && len(s.all) < maxPieces {
		s.all = append(s.all, s.now)
	}
}

// sameRate reports whether two steps have one rate: r₁/l₁ = r₂/l₂.
func sameRate(a, b step) bool {
	x := new(big.Int).Mul(a.requests, big.NewInt(b.length))
	return x.Cmp(new(big.Int).Mul(b.requests, big.NewInt(a.length))) == 0
}

// area returns what a rate in millionths makes in a time in µs, in 10⁻¹² of a request.
func area(rate, us int64) *big.Int { return new(big.Int).Mul(big.NewInt(rate), big.NewInt(us)) }

// windows averages rates over stretches of one length. What a window has of each row is added exactly.
type windows struct {
	to    *steps
	every int64 // µs; 0 = no windows, each row as it is
	part  step  // the window that is not full yet
}

// add appends a stretch with one rate.
func (w *windows) add(r row, us int64) {
	if w.every == 0 {
		w.to.add(step{area(r.rate, us), us, r.line})
		return
	}
	for us > 0 {
		if whole := us / w.every * w.every; w.part.length == 0 && whole > 0 {
			w.to.add(step{area(r.rate, whole), whole, r.line})
			us -= whole
			continue
		}
		if w.part.length == 0 {
			w.part = step{new(big.Int), 0, r.line}
		}
		some := min(us, w.every-w.part.length)
		w.part.requests.Add(w.part.requests, area(r.rate, some))
		w.part.length += some
		if us -= some; w.part.length == w.every {
			w.end()
		}
	}
}

// end closes the window, full or not.
func (w *windows) end() {
	if w.part.length > 0 {
		w.to.add(w.part)
	}
	w.part = step{}
}

// pieces compiles rows, of which the last one is the end.
func (r replay) pieces(in *lines, rows []row) ([]Piece, error) {
	s := &steps{}
	w := windows{to: s, every: r.every}
	for i, at := range rows[:len(rows)-1] {
		w.add(at, rows[i+1].at-at.at)
	}
	if s.n > 0 && r.played(w.part.length).Cmp(big.NewInt(leastPiece)) < 0 && w.part.length > 0 {
		s.extend(w.part) // too short for a piece
	} else {
		w.end()
	}
	s.end()
	first, last := rows[0], rows[len(rows)-1]
	length := r.played(last.at - first.at)
	switch limit := big.NewInt(int64(year / time.Microsecond)); {
	case length.Cmp(limit) > 0:
		return nil, in.errorf(last.line, "this is more than 365 days after line %d; remove lines with wrong times, or give a higher speed=", first.line)
	case s.n > maxPieces:
		return nil, in.errorf(0, "%d pieces with a rate each, at most %d; every=%s averages the rates and keeps their counts", s.n, maxPieces, r.window(last.at-first.at))
	}
	return r.exact(in, s.all, last.at-first.at)
}

// window returns a length of windows with which a file of us µs has pieces that are few and long enough.
func (r replay) window(us int64) string {
	for _, w := range []string{"100ms", "200ms", "500ms", "1s", "2s", "5s", "10s", "15s", "30s", "1m", "2m", "5m", "10m", "15m", "30m", "1h", "2h", "6h"} {
		d, err := ParseDuration(w)
		if long := r.played(d.Microseconds()).Int64() >= leastPiece; err == nil && long && (us-1)/d.Microseconds() < maxPieces {
			return w
		}
	}
	return "1d"
}

// played returns how long a time in the file takes in the replay, in whole µs: us / speed.
func (r replay) played(us int64) *big.Int {
	x := new(big.Int).Mul(big.NewInt(us), big.NewInt(remainderUnit))
	return x.Div(x, big.NewInt(r.speed))
}

// exact gives each step of a file of whole µs the rate that keeps its count. A step from µs a to µs b of the replay, before whose end the
// file has N requests and the pieces so far A, has the rate
//
//	(N − A) / (b − a)
//
// That is the rate of the file · speed · scale where a and b need no rounding. A rate that is too fine for a Rate is
// rounded down to millionths, and the next piece makes up for it. So the pieces never have more than N, and after a
// piece of up to 11 days less than a request less: as many slots are due before b as the file has requests.
func (r replay) exact(in *lines, all []step, whole int64) ([]Piece, error) {
	var out []Piece
	var us, a int64
	asked, made := new(big.Rat), new(big.Rat) // N and A
	for _, s := range all {
		us += s.length
		b := r.played(us).Int64()
		if b-a < leastPiece {
			return nil, in.errorf(s.line, "a rate that holds for %v of the replay, at least %v; every=%s averages the rates and keeps their counts",
				time.Duration(b-a)*time.Microsecond, leastPiece*time.Microsecond, r.window(whole))
		}
		part := new(big.Int).Mul(s.requests, big.NewInt(r.scale))
		asked.Add(asked, new(big.Rat).SetFrac(part, new(big.Int).Exp(big.NewInt(10), big.NewInt(18), nil)))
		seconds := big.NewRat(b-a, remainderUnit)
		rate := new(big.Rat).Sub(asked, made)
		rate.Quo(rate, seconds)
		if rate.Cmp(big.NewRat(maxRate, 1)) > 0 {
			return nil, in.errorf(s.line, "%s requests per second of the replay, at most %d; give a lower speed= or scale=", rate.FloatString(0), maxRate)
		}
		if rate.Denom().Cmp(big.NewInt(maxDen)) > 0 {
			down := new(big.Int).Mul(rate.Num(), big.NewInt(remainderUnit))
			rate.SetFrac(down.Div(down, rate.Denom()), big.NewInt(remainderUnit))
		}
		made.Add(made, new(big.Rat).Mul(rate, seconds))
		out = append(out, Piece{R0: rate.Num().Int64(), R1: rate.Num().Int64(), Den: rate.Denom().Int64(), Dur: b - a})
		a = b
	}
	return out, nil
}
