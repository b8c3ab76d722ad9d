package worker

import (
	"context"

	"github.com/loadctl/loadctl/report"
)

// Journal keeps what the worker reports. Publish is called by one goroutine at a time. An implementation may fail;
// the context ends a call that takes too long.
type Journal interface {
	// Publish writes the snapshot of an interval, the cumulative one, and what is new in the worker's series; it knows how far
	// that was written. interval and total have the same Seq: 1, 2, …. After an error it is not known what was
	// written, so the next call brings the same interval again, with the same Seq; the cumulative snapshot and the series are always the
	// newest. A Seq that is there already is not written again, a point never twice, and that is no error. When the
	// final snapshot is there, so are all points. All are the caller's again when Publish returns; it may have noted
	// total.Processes.
	Publish(ctx context.Context, interval, total *report.Snapshot, series *report.Series) error
}

// A Keeper is a Journal that takes in all that the worker has to report in the end.
type Keeper interface {
	Journal
	// Keep is called once, after the last Publish, with the cumulative snapshot, final now, and all points. started is as in
	// Worker. published tells whether Publish has taken them. They are the Keeper's from then on, to be read.
	Keep(started int64, total *report.Snapshot, points []report.Point, published bool)
}
