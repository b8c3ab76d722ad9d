package results

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/report/samples"
)

// Samples returns the requests that the workers of a run kept as evidence, as one worker would have kept them. unread says
// of which workers they cannot be read, and why; "" = all can. They are evidence beside the counts, so no report fails
// because of them.
func Samples(ctx context.Context, r *run.Run) (all samples.Set, unread string, err error) {
	var sets []samples.Set
	var broken []string
	err = link.ScanHash(ctx, r.Client, r.Keys.Samples, func(who, text string) error {
		if !strings.Contains(who, "/") { // the sum of bytes
			return nil
		}
		var s samples.Set
		if err := s.UnmarshalBinary([]byte(text)); err != nil {
			broken = append(broken, fmt.Sprintf("%.200s cannot be read: %v", who, err))
			return nil
		}
		sets = append(sets, s)
		return nil
	})
	if err != nil {
		if err = run.Explain("read samples of", r.Name, err); !errors.Is(err, spec.ErrBroken) {
			return samples.Set{}, "", err
		}
		broken = append(broken, "the run cannot be read: their key holds something else")
	}
	if len(broken) > 0 {
		unread = printable.Line("samples of " + slices.Min(broken))
	}
	if n := len(broken) - 1; n > 0 {
		unread += fmt.Sprintf("; nor can those of %d more", n)
	}
	return samples.Merge(sets...), unread, nil
}

// PublishSamples stores what the worker has kept as evidence, in place of what it stored before: as much as is its share of
// what Redis may hold of a run. What Redis has already is not stored again.
func (j *Journal) PublishSamples(ctx context.Context, all samples.Set, version, processes int64) error {
	if version == j.sampled {
		return nil
	}
	text, err := all.Encode(samples.Share(processes))
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
	j.sampled = version
	return nil
}
