package record

import (
	"cmp"
	"slices"
)

// MaxPoints bounds the points of a series. Doubling the width bounds memory, while a run shorter than 17 minutes keeps
// its seconds.
const MaxPoints = 1024

// A Series is what one worker did over time: at most 1,024 points of one width. It begins with points of 1 s. When a
// time falls behind the last point, neighbours are merged and the width doubles. Seconds without any request have no
// point.
//
// The zero value is an empty series ready to use. Not safe for concurrent use.
type Series struct {
	width  int64             // seconds; 0 means 1
	points [MaxPoints][]byte // as text, which takes a tenth of the memory; nil = none
	newest *Point            // the point that is added to; its text is older. nil = none
	room   []byte            // memory for the texts, allocated at once, so that memory does not grow
}

// Width returns the width of each point in seconds, a power of two.
func (s *Series) Width() int64 { return max(s.width, 1) }

// Add adds an interval. startUS is the middle of the interval in µs since the run's first t0 on the Redis clock; a
// negative one belongs to point 0. Intervals need not have the width of a point. A late interval is added to the newest
// point: earlier points are closed, and may have been published.
func (s *Series) Add(startUS int64, in *Snapshot) {
	c := in.Counts
	if c.Requests() == 0 && c.Completed == 0 && c.Failed == 0 && in.Streams.IsZero() {
		return
	}
	second := max(startUS, 0) / 1_000_000
	for second/s.Width() >= MaxPoints {
		s.double()
	}
	if i := second / s.Width(); s.newest == nil || s.newest.Index < i {
		s.seal()
		s.newest = s.point(i)
	}
	s.newest.Add(&Point{Sent: c.Requests(), Completed: c.Completed, Failed: c.Failed, Latency: in.Latency, Errors: in.classes(),
		Streams: in.Streams.ofPoint(), Judged: c.Judged, Good: c.Good})
}

// WidthAt returns the width of points after this many seconds of a run.
func WidthAt(second int64) int64 {
	width := int64(1)
	for second/width >= MaxPoints {
		width *= 2
	}
	return width
}

// textBytes is the usual bound of a text. Longer texts have memory of their own.
const textBytes = 1024

// seal encodes the newest point into its text.
func (s *Series) seal() {
	if s.newest != nil {
		s.keep(s.newest)
		s.newest = nil
	}
}

func (s *Series) keep(p *Point) {
	text, err := p.MarshalText()
	if err != nil {
		panic(err) // a recorded point can always be encoded
	}
	if s.room == nil {
		s.room = make([]byte, MaxPoints*textBytes)
	}
	own := s.room[p.Index*textBytes : (p.Index+1)*textBytes]
	s.points[p.Index] = append(own[:0:textBytes], text...)
}

// point returns a copy of point i, empty if there is none yet.
func (s *Series) point(i int64) *Point {
	if s.newest != nil && s.newest.Index == i {
		p := s.newest.clone()
		return &p
	}
	p := NewPoint(i, s.Width())
	if s.points[i] != nil {
		if err := p.UnmarshalText(s.points[i]); err != nil {
			panic(err) // the text was written here
		}
	}
	return p
}

// double merges neighbours: points 2i and 2i+1 become point i.
func (s *Series) double() {
	newest := s.newest
	s.seal()
	var merged [MaxPoints / 2]*Point
	for i := range int64(MaxPoints) {
		if s.points[i] == nil {
			continue
		}
		j := i / 2
		if merged[j] == nil {
			merged[j] = NewPoint(j, 2*s.Width())
		}
		merged[j].Add(s.point(i))
	}
	s.width = 2 * s.Width()
	s.points = [MaxPoints][]byte{}
	for _, p := range merged {
		if p != nil {
			s.keep(p)
		}
	}
	if newest != nil {
		s.newest = s.point(newest.Index / 2)
	}
}

// Since returns the points that begin at or after a second of the run, in order. Points that begin before next are
// closed: they no longer change, even when the width doubles. The others, two at most, may change. Begin with 0; when
// the closed points are stored, go on from next.
//
// The points are copies: they may be encoded on another goroutine.
func (s *Series) Since(second int64) (whole, open []Point, next int64) {
	if s == nil || s.newest == nil {
		return nil, nil, second
	}
	pair := 2 * s.Width() // two neighbours, which become one point when the width doubles
	next = max(second, s.newest.Start()/pair*pair)
	for i := (second + s.Width() - 1) / s.Width(); i <= s.newest.Index; i++ {
		switch there := s.points[i] != nil || s.newest.Index == i; {
		case there && i*s.Width() < next:
			whole = append(whole, *s.point(i))
		case there:
			open = append(open, *s.point(i))
		}
	}
	return whole, open, next
}

// Points returns all points, in order.
func (s *Series) Points() []Point {
	whole, open, _ := s.Since(0)
	return append(whole, open...)
}

// MergeSeries adds up the series of several workers, at the largest width among them. The result is in order of time,
// and does not share memory with the given points. Seconds without any request have no point.
func MergeSeries(all ...[]Point) []Point { return JoinSeries(1, all) }

// JoinSeries is MergeSeries with a smallest width.
func JoinSeries(width int64, all [][]Point) []Point {
	for _, points := range all {
		for _, p := range points {
			width = max(width, p.Width)
		}
	}
	merged := make(map[int64]*Point)
	for _, points := range all {
		for _, p := range points {
			// Widths are powers of two, so a narrow point is never split. The division comes first: a product could
			// overflow.
			index := max(p.Index, 0) / (width / max(p.Width, 1))
			if merged[index] == nil {
				merged[index] = NewPoint(index, width)
			}
			merged[index].Add(&p)
		}
	}
	result := make([]Point, 0, len(merged))
	for _, p := range merged {
		result = append(result, *p)
	}
	slices.SortFunc(result, func(a, b Point) int { return cmp.Compare(a.Index, b.Index) })
	return result
}
