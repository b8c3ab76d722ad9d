package pacer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Recall says that a generation began by cutting those before it short: slots leased beyond the cut
// must not be sent.
type Recall struct {
	ID   int64 // the generation that took over
	T0   int64 // from when, µs of the Redis clock
	Prev int64 // the generation that was in force at T0
	Cut  int64 // the first slot of Prev that is recalled
}

// Recalls are the latest recalls, oldest first.
type Recalls []Recall

// Recalled tells whether a slot of generation gen, due at due (ns of the Redis clock), was recalled:
// a known generation with a higher id begins at or before it. For the generation that was cut the
// script's own count decides, so that the audit agrees with it to the slot.
func (rs Recalls) Recalled(gen, slot, due int64) bool {
	for _, r := range rs {
		if r.Prev == gen && slot >= r.Cut || r.Prev != gen && gen < r.ID && due >= r.T0*1000 {
			return true
		}
	}
	return false
}

// ParseRecalls reads "id:t0:prev:cut;…", as the scripts write it; "" is no recall.
func ParseRecalls(s string) (Recalls, error) {
	if s == "" {
		return nil, nil
	}
	var rs Recalls
	for part := range strings.SplitSeq(s, ";") {
		v, err := parseInts(part, ":", 4)
		if err == nil && (v[1] < 0 || v[1] > Endless) {
			err = errors.New("time out of range")
		}
		if err != nil {
			return nil, fmt.Errorf("recalls %q: %w", clip(s), err)
		}
		rs = append(rs, Recall{ID: v[0], T0: v[1], Prev: v[2], Cut: v[3]})
	}
	return rs, nil
}

// Merge adds recalls to those known, keeping at most the newest 16: older ones are long past.
func (rs Recalls) Merge(more Recalls) Recalls {
	out := rs
	for _, r := range more {
		if len(out) == 0 || r.ID > out[len(out)-1].ID {
			out = append(slices.Clip(out), r) // a copy: readers hold the old one
		}
	}
	return out[max(0, len(out)-16):]
}

// since is what has come after those known before.
func (rs Recalls) since(before Recalls) Recalls {
	for i, r := range rs {
		if len(before) == 0 || r.ID > before[len(before)-1].ID {
			return rs[i:]
		}
	}
	return nil
}
