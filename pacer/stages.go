package pacer

import (
	"fmt"
	"strings"
	"time"
)

// Stage is a linear ramp to To over Length, as in k6. A Length of 0 jumps. With a Concurrency it is a stage of a closed loop,
// which has so many requests in flight over all of Length.
type Stage struct {
	Length      time.Duration
	To          Rate
	Concurrency int64 // 0 = it has a rate
}

// ParseStage reads "30s:200": a duration (ParseDuration) and a rate (ParseRate), or "30s:c=64": a duration and a concurrency.
func ParseStage(s string) (Stage, error) {
	length, to, ok := strings.Cut(s, ":")
	if !ok {
		return Stage{}, fmt.Errorf("stage %q: write DURATION:RATE, such as 30s:200", clip(s))
	}
	d, err := ParseDuration(length)
	if err != nil {
		return Stage{}, fmt.Errorf("stage %q: the part before the colon is a duration, such as 30s or 2d", clip(s))
	}
	n, closed, err := ParseConcurrency(to)
	switch {
	case err != nil:
		return Stage{}, fmt.Errorf("stage %q: %w", clip(s), err)
	case closed && d == 0:
		return Stage{}, fmt.Errorf("stage %q: give it a time above zero, such as 60s:%s", clip(s), to)
	case closed:
		return Stage{Length: d, Concurrency: n}, nil
	}
	r, err := ParseRate(to)
	if err != nil {
		return Stage{}, fmt.Errorf("stage %q: %w", clip(s), err)
	}
	return Stage{Length: d, To: r}, nil
}

// String returns the stage as ParseStage reads it.
func (s Stage) String() string {
	if s.Concurrency > 0 {
		return fmt.Sprintf("%v:c=%d", s.Length, s.Concurrency)
	}
	return fmt.Sprintf("%v:%v", s.Length, s.To)
}

// Stages returns a profile of ramps: from start to the first stage's rate, and from there to the next one's. Stages with a
// Concurrency are no ramps.
func Stages(start Rate, stages ...Stage) Profile {
	var p Profile
	for _, s := range stages {
		if s.Concurrency > 0 {
			p.Segments = append(p.Segments, Concurrent(s.Concurrency, s.Length))
			continue
		}
		p.Segments = append(p.Segments, Segment{From: start, To: s.To, Length: s.Length})
		start = s.To
	}
	return p
}
