package results

import (
	"context"
	"fmt"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/report/samples"
)

// Samples returns the requests that the workers of a run kept as evidence, as one worker would have kept them.
func Samples(ctx context.Context, r *run.Run) (samples.Set, error) {
	var all []samples.Set
	err := link.ScanHash(ctx, r.Client, r.Keys.Samples, func(_, text string) error {
		var s samples.Set
		if err := s.UnmarshalBinary([]byte(text)); err != nil {
			return spec.Broken(r.Name, err.Error())
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		return samples.Set{}, run.Explain("read samples of", r.Name, err)
	}
	return samples.Merge(all...), nil
}

// PublishSamples stores what the worker has kept as evidence, in place of what it stored before: as much as is its share of
// what Redis may hold of a run. processes is how many processes of workers have taken part; 0 = unknown. Own and Unpublished
// have the set too, whether Redis takes it or not.
func (j *Journal) PublishSamples(ctx context.Context, set samples.Set, processes int64) error {
	j.evidence = set
	share := samples.Share(processes)
	text, err := set.Within(samples.Limits{Whole: samples.MostWhole, Bytes: share}).MarshalBinary()
	if err != nil {
		return err
	}
	k := j.run.Keys
	reply, err := lua.Samples().Run(ctx, j.run.Client, []string{k.Budget, k.Samples}, j.run.UID, j.worker+"/"+j.incarnation, text, samples.MostRunBytes).Text()
	switch {
	case err != nil:
		return fmt.Errorf("publish samples: %w", err)
	case reply == "NOSTATE":
		return fmt.Errorf("publish samples: run %s: %w", j.run.Name, run.ErrNoRun)
	}
	return nil
}
