package runflags

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
)

// concurrency is the value of --concurrency; 0 = it was not given.
type concurrency int64

func (n *concurrency) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*n), 10)
}

// Set implements pflag.Value.
func (n *concurrency) Set(text string) error {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 1 || v > pacer.MaxConcurrency {
		return fmt.Errorf("give the number of requests in flight of the whole cluster, from 1 to %d", pacer.MaxConcurrency)
	}
	*n = concurrency(v)
	return nil
}

// Type implements pflag.Value.
func (*concurrency) Type() string { return "int" }

// setConcurrency makes the run a closed loop if a flag says how many requests are in flight.
func (f *Schedule) setConcurrency(s *spec.Spec) error {
	staged := spec.Concurrent(s.Stages)
	switch {
	case f.concurrency == 0 && !staged:
		return nil
	case s.QPS.Num > 0 && staged:
		return errors.New("--qps and --stage DURATION:c=N: a run has a rate, or a number of requests in flight; leave one of them out")
	case s.QPS.Num > 0:
		return errors.New("--qps and --concurrency: a run has a rate, or a number of requests in flight; give one of them")
	case f.profile != "":
		return errors.New("--profile and a concurrency: the profile is a rate; give one of them")
	}
	s.Max, s.Concurrency = true, int64(f.concurrency)
	return nil
}
