package worker

import (
	"context"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
)

// Journal keeps what the worker reports. One goroutine at a time calls Publish. A call may fail. The context ends a
// call that takes too long.
type Journal interface {
	// Publish writes the snapshot of an interval, the cumulative one, and the new points of the worker's series. It
	// knows how far the series was written. interval and total have the same Seq: 1, 2, ….
	//
	// After an error it is not known what was written. So the next call brings the same interval again, with the same
	// Seq. The cumulative snapshot and the series are always the newest. A Seq that is stored already is not written
	// again, nor is a point. That is no error. When the final snapshot is stored, all points are.
	//
	// When Publish returns, its arguments are the caller's again. It may have set total.Processes.
	Publish(ctx context.Context, interval, total *record.Snapshot, series *record.Series) error
}

// A SampleJournal is a Journal that takes what the worker has kept as evidence.
type SampleJournal interface {
	Journal
	// PublishSamples writes all that is kept, in place of what was written before. version differs if anything has changed
	// since the last call. processes is as in record.Snapshot.
	PublishSamples(ctx context.Context, all samples.Set, version, processes int64) error
}

// A Keeper is a Journal that takes all that the worker has to report at the end.
type Keeper interface {
	Journal
	// Keep is called once, after the last Publish, with the final cumulative snapshot, all points, and the evidence. started is
	// as in Worker. published says whether Publish has taken snapshot and points. The Keeper may keep and read all of it.
	Keep(started int64, total *record.Snapshot, points []record.Point, kept samples.Set, published bool)
}
