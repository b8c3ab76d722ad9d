package results

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
)

// listEvery is the number of snapshots between two checks that the run is listed.
const listEvery = 10

// Journal stores one worker's snapshots in the run. One goroutine at a time uses it.
type Journal struct {
	MaxRate pacer.Rate // of the cluster, above which the worker leaves: commands that raise the rate ask for it. Zero = none

	run                 *run.Run
	worker, incarnation string
	script              *redis.Script

	second    int64 // up to which the run's series has the worker's points, by the last reply
	own       *Unpublished
	published bool  // Redis has taken own
	sampled   int64 // the version of the samples that Redis has
}

// NewJournal returns the Journal of the worker with this id and incarnation.
func NewJournal(r *run.Run, worker, incarnation string) *Journal {
	return &Journal{run: r, worker: worker, incarnation: incarnation, script: lua.Snapshot()}
}

// Publish stores an interval snapshot and the cumulative one. It adds to the run's series the points that it lacks,
// some at a time. The last snapshot is stored when all points are. Publish sets total.Processes to what Redis says.
func (j *Journal) Publish(ctx context.Context, interval, total *record.Snapshot, series *record.Series) error {
	for strays := 0; strays <= 3; { // one is usual after a failover
		m, err := newMessage(interval, total, series, j.second, j.MaxRate)
		if err != nil {
			return err
		}
		reply, err := j.send(ctx, m)
		if err != nil {
			return err
		}
		j.second = reply.second
		switch {
		case !reply.added:
			strays++
			j.sampled = 0 // Redis has forgotten them too
		case m.interval != nil:
			total.Processes = max(total.Processes, reply.processes)
			if interval.Seq%listEvery == 1 && !interval.Final {
				_ = j.run.Relist(ctx) // the run does not depend on it
			}
			return nil
		}
	}
	return errors.New("publish snapshot: Redis loses points while they are stored; check that its keys are not evicted")
}

// Keep takes all that the worker has to report, for Own and Unpublished.
func (j *Journal) Keep(started int64, total *record.Snapshot, points []record.Point, kept samples.Set, published bool) {
	j.published = published
	j.own = &Unpublished{
		Run: j.run.Name, UID: j.run.UID, Leased: total.Counts.Slots(), StartedAt: run.TimeOf(started), Length: j.run.Spec.Length(),
		Total: total, Series: points, Samples: kept.Within(samples.Limits{Whole: samples.MostWhole, Bytes: samples.MostBytes}),
		ClosedLoop: j.run.Spec.Max, Concurrency: j.run.Spec.Concurrencies(), Described: described(j.run),
		Thresholds: j.run.Spec.Thresholds, Warmup: j.run.Spec.Warmup, Steps: j.run.Spec.CountedSteps(),
	}
}

// Own returns all that the worker did, published or not; nil if it could not begin. Call it after the worker has
// ended.
func (j *Journal) Own() *Unpublished {
	if j.own != nil {
		j.own.State = "left"
	}
	return j.own
}

// Unpublished returns what the worker could not publish; nil if there is nothing. Call it after the worker has ended.
func (j *Journal) Unpublished() *Unpublished {
	if j.published {
		return nil
	}
	return j.Own()
}
