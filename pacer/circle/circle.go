// Package circle spreads the slots of a schedule over its owners.
//
// The slots of a run are numbered: slot k of a law has the ordinal q = base + k. Each ordinal has a place on a circle
// of Units places,
//
//	v(q) = q·G mod Units
//
// and the owner of a range of the circle owns the slots whose places lie in it:
//
//	r := circle.Range{Lo: 0, N: circle.Units / 3}
//	for w := r.Walk(q0); w.Ordinal() < q1; w.Next() {
//		fmt.Println(w.Ordinal())
//	}
//	n := r.Count(q0, q1) // the same number, without walking
//
// Guarantees: ranges that divide the circle divide the ordinals, each once. G is near Units divided by the golden
// ratio. So wherever a range lies, at most three distances occur between its ordinals, and these are of the order of 1/share.
// All numbers are integers below 2^53, which the doubles of Redis' Lua hold exactly.
package circle

const (
	// Units is the number of places on the circle.
	Units = 1 << 24
	// G is how far the next ordinal is. It is odd, so v is a bijection of any Units ordinals in a row.
	G = 10_368_999
)

// At returns the place of an ordinal, which must not be negative:
//
//	v(q) = (q mod Units)·G mod Units
func At(q int64) int64 { return q % Units * G % Units }

// A Range is the places Lo … Lo+N−1, with 0 ≤ Lo and Lo+N ≤ Units. It does not cross zero.
type Range struct{ Lo, N int64 }

// Has reports whether an ordinal is in the range.
func (a Range) Has(q int64) bool {
	o := At(q) - a.Lo
	return o >= 0 && o < a.N
}

// steps returns the shortest step that moves up by less than the range's length, and the shortest that moves down.
// Euclid's algorithm finds them: with (n1, d1) up and (n2, d2) down, n1 + n2 ordinals make the next shorter movement,
//
//	d1 > d2: up by d1 − d2;  d1 < d2: down by d2 − d1
//
// At the end d1 + d2 ≥ N, as before the last turn the longer of the two was at least N.
func (a Range) steps() (n1, d1, n2, d2 int64) {
	n1, d1, n2, d2 = 1, G, 1, Units-G
	for max(d1, d2) >= a.N {
		switch {
		case d1 == d2: // both are 1, and the range is one place: it comes again after all others
			return Units, 0, Units, 0
		case d1 > d2:
			n1, d1 = n1+n2, d1-d2
		default:
			n2, d2 = n1+n2, d2-d1
		}
	}
	return n1, d1, n2, d2
}

// A Walk goes through the ordinals of a range in order. It allocates nothing.
type Walk struct {
	q, o, n        int64 // ordinal, place in the range, length of the range
	n1, d1, n2, d2 int64
}

// Walk begins at the first ordinal of the range at or after q. The range must not be empty.
func (a Range) Walk(q int64) Walk {
	w := Walk{q: a.First(q), n: a.N}
	w.o = At(w.q) - a.Lo
	w.n1, w.d1, w.n2, w.d2 = a.steps()
	return w
}

// Ordinal returns where the walk stands.
func (w *Walk) Ordinal() int64 { return w.q }

// Next goes to the next ordinal of the range. With o the place in the range:
//
//	o + d1 < N: n1 on;  o ≥ d2: n2 on;  else n1 + n2 on
//
// The first two exclude each other, as d1 + d2 ≥ N.
func (w *Walk) Next() {
	if w.o+w.d1 < w.n {
		w.q += w.n1
		w.o += w.d1
		return
	}
	if w.o >= w.d2 {
		w.q += w.n2
		w.o -= w.d2
		return
	}
	w.q += w.n1 + w.n2
	w.o += w.d1 - w.d2
}

// First returns the first ordinal of the range at or after q. That is q + j with the least j for which
//
//	(Lo − v(q)) mod Units ≤ j·G mod Units ≤ (Lo − v(q)) mod Units + N − 1
func (a Range) First(q int64) int64 {
	if a.Has(q) {
		return q
	}
	lo := (a.Lo - At(q) + Units) % Units
	return q + reach(G, Units, lo, lo+a.N-1)
}

// reach returns the least j ≥ 0 with lo ≤ a·j mod m ≤ hi, where 0 < lo ≤ hi < m. There must be one. If no
// multiple of a lies in [lo, hi], then a·j = m·y + z with z in [lo, hi]. There y is the least for which m·y mod a
// lies in [−hi mod a, −lo mod a].
func reach(a, m, lo, hi int64) int64 {
	if j := (lo + a - 1) / a; a*j <= hi {
		return j
	}
	y := reach(m%a, a, a-1-(hi+a-1)%a, a-1-(lo+a-1)%a)
	return (lo + m*y + a - 1) / a
}

// Count returns how many ordinals of the range are in [from, to).
func (a Range) Count(from, to int64) int64 {
	if to <= from {
		return 0
	}
	return a.below(to) - a.below(from)
}

// below returns how many of the ordinals 0 … q−1 are in the range. In each period of Units ordinals there are N. With x
// = i·G − Lo, ordinal i is in the range if ⌊x/Units⌋ − ⌊(x−N)/Units⌋ is 1, else it is 0. 2·Units are added, so that
// nothing is negative:
//
//	q div Units · N + Σ_{i < q mod Units} (⌊(x+2·Units)/Units⌋ − ⌊(x+2·Units−N)/Units⌋)
func (a Range) below(q int64) int64 {
	rest := q % Units
	return q/Units*a.N + floors(rest, 2*Units-a.Lo) - floors(rest, 2*Units-a.Lo-a.N)
}

// floors returns Σ_{i<n} ⌊(i·G + b)/Units⌋ for n < Units. The sum is the number of points below a line. Whole parts
// are taken out, then the two axes change places, as in Euclid's algorithm. All numbers are below 2^50.
func floors(n, b int64) (sum int64) {
	a, m := int64(G), int64(Units)
	for n > 0 {
		sum += n * (n - 1) / 2 * (a / m)
		sum += n * (b / m)
		a, b = a%m, b%m
		top := a*n + b
		n, b = top/m, top%m
		a, m = m, a
	}
	return sum
}

// shardG is the step of a second rotation, near Units·(√2 − 1), and also odd.
const shardG = 6_949_351

// Shard returns which of a worker's shards sends an ordinal. It depends on the ordinal alone. So a shard that has not
// yet taken up a new list of ranges never sends a slot of another shard.
//
//	⌊(q·g mod Units) · shards / Units⌋
func Shard(q, shards int64) int64 { return q % Units * shardG % Units * shards / Units }
