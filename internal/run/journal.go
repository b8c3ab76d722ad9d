package run

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/report"
)

// listEvery is how many snapshots lie between two looks at whether the run is listed.
const listEvery = 10

// Journal stores one worker's snapshots in the run, and says when it leaves. It is used by one goroutine at a time.
type Journal struct {
	run                 *Run
	worker, incarnation string

	left      string // the state to leave in, "" = none was told
	own       *Unpublished
	published bool // Redis has taken own
}

// Journal is where the worker with this id and incarnation reports to.
func (r *Run) Journal(worker, incarnation string) *Journal {
	return &Journal{run: r, worker: worker, incarnation: incarnation}
}

// Publish stores an interval snapshot and the cumulative one, and the series points that changed, in one atomic write. With rewrite
// the points replace all stored before. Where Redis has forgotten some of those, the error is report.ErrRewrite. What Redis tells of other
// processes is noted in total.
func (j *Journal) Publish(ctx context.Context, interval, total *report.Snapshot, points []report.Point, rewrite bool) error {
	in, err := interval.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	sum, err := total.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	forget := 0
	if rewrite {
		forget = 1
	}
	args := []any{j.run.UID, j.worker + "/" + j.incarnation, sum, in, streamLength, interval.Seq, forget}
	for _, p := range points {
		text, err := p.MarshalText()
		if err != nil {
			return fmt.Errorf("encode series: %w", err)
		}
		args = append(args, p.Index, text)
	}
	k := j.run.keys
	keys := []string{k.Budget, k.Totals, k.Snapshots, k.Series, k.Spec, k.Workers, k.Seen, k.Events, k.Laws}
	reply, err := lua.Snapshot().Run(ctx, j.run.client, keys, args...).StringSlice()
	if err != nil {
		return fmt.Errorf("publish snapshot: %w", err)
	}
	if len(reply) != 2 {
		return fmt.Errorf("publish snapshot: the answer has %d parts; this program and the run do not fit together", len(reply))
	}
	switch reply[0] {
	case "OK":
		if n, err := strconv.ParseInt(reply[1], 10, 64); err == nil {
			total.Processes = max(total.Processes, n)
		}
		if interval.Seq%listEvery == 1 && !interval.Final {
			_ = j.run.relist(ctx) // the run does not depend on it
		}
		return nil
	case "REWRITE":
		return fmt.Errorf("publish snapshot: %w", report.ErrRewrite)
	default:
		return fmt.Errorf("publish snapshot: run %s: %w", j.run.Name, ErrNoRun)
	}
}

// Keep takes in all that the worker has to report: see Own and Unpublished.
func (j *Journal) Keep(started int64, total *report.Snapshot, points []report.Point, published bool) {
	j.published = published
	j.own = &Unpublished{
		Run: j.run.Name, UID: j.run.UID, Leased: total.Counts.Slots(), StartedAt: instant(started), Length: j.run.Spec.Length(),
		Total: total, Series: points, ClosedLoop: j.run.Spec.Max, Described: j.run.Spec.described(),
		Thresholds: j.run.Spec.Thresholds, Warmup: j.run.Spec.Warmup,
	}
}

// Own is all that the worker did, published or not; nil if it could not begin. Call it when the worker has ended.
func (j *Journal) Own() *Unpublished {
	if j.own != nil {
		j.own.State = cmp.Or(j.left, "left")
	}
	return j.own
}

// Unpublished is what the worker could not publish in the end; nil if there is nothing. Call it when the worker has ended.
func (j *Journal) Unpublished() *Unpublished {
	if j.published {
		return nil
	}
	return j.Own()
}

// Leave takes the worker out of the run; state is "left" or "stopped".
func (j *Journal) Leave(ctx context.Context, state string) error {
	j.left = state
	err := lua.Leave().Run(ctx, j.run.client, j.run.keys.change(), j.run.UID, j.worker, j.incarnation, state).Err()
	if err != nil {
		return fmt.Errorf("leave run %s: %w", j.run.Name, err)
	}
	return nil
}
