package worker

import (
	"context"

	"github.com/loadctl/loadctl/report"
)

// Journal keeps what the worker reports. Publish is called by one goroutine at a time. An implementation may fail;
// the context ends a call that takes too long.
type Journal interface {
	// Publish writes, in one atomic step, the snapshot of an interval, the cumulative one, and the points of the
	// worker's series that have changed; with rewrite they replace all points written before. interval and total
	// have the same Seq: 1, 2, …. After an error it is not known what was written, so the next call brings the
	// same interval again, with the same Seq; the cumulative snapshot is always the newest. A Seq that is there
	// already is not written again, neither is what comes with it, and that is no error. report.ErrRewrite is the
	// one that says that nothing was written, because points written before are missing: the next call brings
	// all of them. The snapshots are the caller's again when Publish returns; it may have noted total.Processes.
	Publish(ctx context.Context, interval, total *report.Snapshot, points []report.Point, rewrite bool) error

	// Leave tells the fleet that this worker leases no more, so that its share goes to the others at once. The
	// state is StateLeft or StateStopped. Calling it again changes nothing.
	Leave(ctx context.Context, state string) error
}

// A Keeper is a Journal that takes in all that the worker has to report in the end.
type Keeper interface {
	Journal
	// Keep is called once, after the last Publish, with the cumulative snapshot, final now, and all points. started is as in
	// Worker. published tells whether Publish has taken them. They are the Keeper's from then on, to be read.
	Keep(started int64, total *report.Snapshot, points []report.Point, published bool)
}

// The states a worker leaves in.
const (
	StateLeft    = "left"    // it fires what it holds, for at most the horizon
	StateStopped = "stopped" // it dropped what it held and sends nothing more
)
