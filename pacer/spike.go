package pacer

import (
	"fmt"
	"time"
)

// Spike returns base with a spike at the end of each every, without an end. The rate goes up to peak in ramp, holds it
// for hold, and goes down to base in ramp. A ramp of 0 is a jump. The peak must be above the base. Spike and ramps must
// leave at least 1 ms of each every to the base.
func Spike(base, peak Rate, every, hold, ramp time.Duration) (Profile, error) {
	if peak.rat().Cmp(base.rat()) <= 0 {
		return Profile{}, fmt.Errorf("peak %v is not above the base %v; make it larger", peak, base)
	}
	rest := every - hold - time.Millisecond
	if rest < 0 || ramp > rest/2 {
		return Profile{}, fmt.Errorf("for=%v and two ramps of %v do not fit into every=%v; leave at least 1ms for the base", hold, ramp, every)
	}
	p := Profile{Loop: true, Segments: []Segment{{From: base, To: base, Length: every - hold - 2*ramp}}}
	if ramp > 0 {
		p.Segments = append(p.Segments, Segment{From: base, To: peak, Length: ramp})
	}
	p.Segments = append(p.Segments, Segment{From: peak, To: peak, Length: hold})
	if ramp > 0 {
		p.Segments = append(p.Segments, Segment{From: peak, To: base, Length: ramp})
	}
	return p, nil
}

func parseSpike(s settings) (Profile, error) {
	base, err := s.rate("base")
	if err != nil {
		return Profile{}, err
	}
	peak, err := s.rate("peak")
	if err != nil {
		return Profile{}, err
	}
	every, err := s.duration("every")
	if err != nil {
		return Profile{}, err
	}
	hold, err := s.duration("for")
	if err != nil {
		return Profile{}, err
	}
	var ramp time.Duration
	if _, given := s["ramp"]; given {
		if ramp, err = s.duration("ramp"); err != nil {
			return Profile{}, err
		}
	}
	return Spike(base, peak, every, hold, ramp)
}
