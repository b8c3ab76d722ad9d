package samples

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/gzip"
)

// Bounds of a set.
const (
	MostWhole    = 64        // samples of a worker with more than their times
	MostBytes    = 256 << 10 // of all samples of a worker
	MostRunBytes = 4 << 20   // of all samples of a run in Redis
	mostDecoded  = 8 << 20   // bytes of an encoded set, from whoever wrote it
	setVersion   = 1

	// Most bounds the samples of a report. Within it are far more than MostRunBytes have room for.
	Most = 20_000
)

// A Set is what is kept of a worker, or of a whole fleet, by the time when requests were due.
type Set struct {
	Samples []Sample `json:"samples"`
	// Closed says that the ordinals are of a closed loop: each worker counts its own.
	Closed bool `json:"closed,omitempty"`
}

// Limits bounds a set. Zero stands for no bound.
type Limits struct {
	Whole int // samples with more than their times
	Bytes int // of memory, about
}

// Merge returns the samples that one worker would have kept of all requests. If one comes twice, the one with more than its
// times counts.
func Merge(sets ...Set) Set {
	var all []Sample
	var m Set
	for _, s := range sets {
		all = append(all, s.Samples...)
		m.Closed = m.Closed || s.Closed
	}
	slices.SortFunc(all, func(a, b Sample) int {
		return cmp.Or(identity(&a, &b), a.Due.Compare(b.Due), compareBool(b.Whole(), a.Whole()))
	})
	all = slices.CompactFunc(all, func(a, b Sample) bool { return identity(&a, &b) == 0 && a.Due.Equal(b.Due) })
	m.Samples = within(choose(all, m.Closed), Limits{})
	return m
}

// Within returns the set within bounds. The most valuable samples stay whole. Of the slowest at least the times stay, so
// that they merge exactly; others are left out.
func (s Set) Within(l Limits) Set {
	return Set{within(choose(slices.Clone(s.Samples), s.Closed), l), s.Closed}
}

// within returns the samples within bounds, in the order in which they were due. The times of the slowest are not counted:
// there are at most ten of each step. A run may keep no more than the times of any request: the others count as whole ones.
func within(kept []ranked, l Limits) []Sample {
	room, whole := cmp.Or(l.Bytes, math.MaxInt), cmp.Or(l.Whole, math.MaxInt)
	var all []Sample
	for _, r := range kept {
		s := r.Sample
		if s.size() > room/2 {
			s.cut() // else a few large bodies would push out all others
		}
		slow := slices.Contains(s.Why, Slow)
		if size := s.size(); (s.Whole() || !slow) && whole > 0 && size <= room {
			whole, room = whole-1, room-size
		} else if s.strip(); !slow {
			continue
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Sample) int { return cmp.Or(a.Due.Compare(b.Due), identity(&a, &b)) })
	return all
}

// Share returns how many bytes one of so many processes of workers may store.
func Share(processes int64) int { return int(min(MostBytes, MostRunBytes/max(1, processes))) }

// Encode encodes as much of the set as most bytes hold: first the most valuable samples, then the times of the slowest.
func (s Set) Encode(most int) ([]byte, error) {
	kept := s.Within(Limits{Whole: MostWhole, Bytes: MostBytes})
	for l := (Limits{Whole: MostWhole, Bytes: min(MostBytes, 4*most)}); ; l.Bytes /= 2 {
		text, err := kept.MarshalBinary()
		if err != nil || len(text) <= most || len(kept.Samples) == 0 {
			return text, err
		}
		if kept = kept.Within(l); l.Bytes < leastWhole {
			kept = kept.slower()
		}
	}
}

// leastWhole is less than any whole sample takes, in bytes.
const leastWhole = 256

// slower returns the slower half of a set, without more than their times.
func (s Set) slower() Set {
	half := Set{slices.Clone(s.Samples), s.Closed}
	slices.SortFunc(half.Samples, func(a, b Sample) int { return cmp.Compare(b.Latency, a.Latency) })
	half.Samples = half.Samples[:len(half.Samples)/2]
	for i := range half.Samples {
		half.Samples[i].strip()
	}
	slices.SortFunc(half.Samples, func(a, b Sample) int { return cmp.Or(a.Due.Compare(b.Due), identity(&a, &b)) })
	return half
}

// encoded is a Set with its version.
type encoded struct {
	V int `json:"v"`
	Set
}

// MarshalBinary encodes a set as compressed JSON.
func (s Set) MarshalBinary() ([]byte, error) {
	text, err := json.Marshal(encoded{setVersion, s})
	if err != nil {
		return nil, fmt.Errorf("encode samples: %w", err)
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.StatelessCompression) // others take a megabyte of memory each time
	if err != nil {
		return nil, fmt.Errorf("encode samples: %w", err)
	}
	_, err = w.Write(text)
	if err := cmp.Or(err, w.Close()); err != nil {
		return nil, fmt.Errorf("encode samples: %w", err)
	}
	return b.Bytes(), nil
}

// UnmarshalBinary replaces s by what MarshalBinary wrote. The data may come from an untrusted source.
func (s *Set) UnmarshalBinary(data []byte) error {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("decode samples: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, mostDecoded+1))
	if err != nil {
		return fmt.Errorf("decode samples: %w", err)
	}
	if len(text) > mostDecoded {
		return fmt.Errorf("decode samples: more than %d bytes", mostDecoded)
	}
	var e encoded
	if err := few(text); err != nil {
		return fmt.Errorf("decode samples: %w", err)
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("decode samples: %w", err)
	}
	if e.V != setVersion {
		return fmt.Errorf("decode samples: version %d is not version %d known here; update this program", e.V, setVersion)
	}
	for i := range e.Samples {
		if !e.Samples[i].sound() {
			return fmt.Errorf("decode samples: request %d has a number that is no count and no time", e.Samples[i].Ordinal)
		}
	}
	*s = e.Set
	return nil
}

// mostParts bounds the members and elements of an encoded set: as many as Most samples have that are only times.
const mostParts = 500_000

// few refuses JSON with too many samples before the first one is decoded: {} takes three bytes there, and 400 in memory. In
// the same way it refuses too many of anything else, such as headers.
func few(text []byte) error {
	if n := parts(text); n > mostParts {
		return fmt.Errorf("%d members, more than %d", n, mostParts)
	}
	var all struct {
		Samples []struct{} `json:"samples"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	if len(all.Samples) > Most {
		return fmt.Errorf("%d samples, more than %d", len(all.Samples), Most)
	}
	return nil
}

// parts returns how many objects and commas JSON has outside of its texts.
func parts(text []byte) (n int) {
	inside := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inside = !inside
		case inside && c == '\\':
			i++
		case !inside && (c == '{' || c == ','):
			n++
		}
	}
	return n
}
