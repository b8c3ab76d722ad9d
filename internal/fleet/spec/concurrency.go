package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/pacer"
)

// Seated reports whether the run is a closed loop with a concurrency: the whole cluster has so many requests in flight.
func (s Spec) Seated() bool { return s.Concurrency > 0 || s.Max && Concurrent(s.Stages) }

// Concurrencies returns how many requests the whole cluster is planned to have in flight, one number after the other; nil if the
// run is no closed loop with a concurrency.
func (s Spec) Concurrencies() (all []int64) {
	p, err := s.Curve()
	if err != nil || !s.Seated() {
		return nil
	}
	pieces, _ := p.Pieces() // Curve has checked the stages; none is a ramp
	for _, piece := range pieces {
		all = append(all, piece.Concurrency())
	}
	return slices.Compact(all)
}

// Concurrent reports whether a stage has a concurrency.
func Concurrent(stages []string) bool {
	for _, text := range stages {
		if strings.Contains(text, ":c=") {
			return true
		}
	}
	return false
}

// checkStages refuses stages that have a rate in a closed loop, or a concurrency beside a rate.
func checkStages(closed bool, stages []pacer.Stage) error {
	for _, s := range stages {
		switch {
		case s.Concurrency > 0 && !closed:
			return fmt.Errorf("stage %v: a concurrency makes the run a closed loop; only --stage says so, in place of rates", s)
		case s.Concurrency == 0 && closed:
			return errors.New("--stage: one has a rate, another one a concurrency; a run has only one kind of stages, such as 30s:200 or 60s:c=64")
		}
	}
	return nil
}

// Loop returns the flag that made the run a closed loop, for errors.
func (s Spec) Loop() string {
	switch {
	case s.Concurrency > 0:
		return "--concurrency"
	case s.Seated():
		return "--stage DURATION:c=N"
	default:
		return "--qps max"
	}
}
