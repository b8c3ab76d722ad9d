package pacer

import (
	"fmt"
	"strings"
	"time"
)

// Stage is a linear ramp to To over Length, as in k6. A Length of 0 jumps.
type Stage struct {
	Length time.Duration
	To     Rate
}

// ParseStage reads "30s:200": a duration (ParseDuration) and a rate (ParseRate).
func ParseStage(s string) (Stage, error) {
	length, to, ok := strings.Cut(s, ":")
	if !ok {
		return Stage{}, fmt.Errorf("stage %q: write DURATION:RATE, such as 30s:200", clip(s))
	}
	d, err := ParseDuration(length)
	if err != nil {
		return Stage{}, fmt.Errorf("stage %q: the part before the colon is a duration, such as 30s or 2d", clip(s))
	}
	r, err := ParseRate(to)
	if err != nil {
		return Stage{}, fmt.Errorf("stage %q: %w", clip(s), err)
	}
	return Stage{Length: d, To: r}, nil
}

// Stages returns a profile of ramps: from start to the first stage's rate, and from there to the next one's.
func Stages(start Rate, stages ...Stage) Profile {
	var p Profile
	for _, s := range stages {
		p.Segments = append(p.Segments, Segment{From: start, To: s.To, Length: s.Length})
		start = s.To
	}
	return p
}
