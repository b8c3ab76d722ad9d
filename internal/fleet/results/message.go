package results

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/record"
)

// pointsAtOnce is how many complete points one call brings. Normally there is one a second. There are more only after
// Redis has forgotten some or was down. Then they come in parts.
const pointsAtOnce = 32

// A message is what one call of the snapshot script brings.
type message struct {
	seq                     uint64
	total, interval, counts []byte
	from, next              int64  // seconds: the points between them are complete
	open                    []byte // the points from next on
	pages                   []any  // what is added to the merged points
}

// counted is the part of a worker's snapshot that watchers read.
type counted struct {
	Seq    uint64        `json:"seq"`
	End    int64         `json:"end"`
	Final  bool          `json:"final"`
	Counts record.Counts `json:"counts"`

	MaxRate pacer.Rate `json:"max_qps,omitzero"` // of the cluster, above which the worker leaves; zero = none
}

// newMessage returns what the next call brings: a worker's points from a second on, as many as one call takes. It has
// a final snapshot only when all points are in.
func newMessage(interval, total *record.Snapshot, series *record.Series, second int64, most pacer.Rate) (*message, error) {
	whole, open, next := series.Since(second)
	interval.Behind = len(whole) > pointsAtOnce
	if interval.Behind {
		block := pointsAtOnce * series.Width() // so that it is the beginning of a point when the width doubles
		open, next = nil, whole[pointsAtOnce].Start()/block*block
		whole = slices.DeleteFunc(whole, func(p record.Point) bool { return p.Start() >= next })
	}
	m := &message{seq: interval.Seq, from: second, next: next}
	for i := range whole {
		for _, add := range whole[i].Increments() {
			m.pages = append(m.pages, add.Page, add.Add)
		}
	}
	var err error
	if m.open, err = joinPoints(open); err != nil || interval.Behind && interval.Final {
		return m, err
	}
	if m.interval, err = interval.MarshalBinary(); err != nil {
		return nil, fmt.Errorf("encode snapshot: %w", err)
	}
	if m.total, err = total.MarshalBinary(); err != nil {
		return nil, fmt.Errorf("encode snapshot: %w", err)
	}
	if m.counts, err = json.Marshal(counted{total.Seq, total.End, total.Final, total.Counts, most}); err != nil {
		return nil, fmt.Errorf("encode counts: %w", err)
	}
	return m, nil
}

// joinPoints writes points with spaces between.
func joinPoints(points []record.Point) (text []byte, err error) {
	for i, p := range points {
		point, err := p.MarshalText()
		if err != nil {
			return nil, fmt.Errorf("encode series: %w", err)
		}
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(text, point...)
	}
	return text, nil
}

// parseRecord reads the series of one worker: up to which second its points are merged, and those after that.
func parseRecord(text string) (second int64, open []record.Point, err error) {
	number, points, found := strings.Cut(text, " ")
	if second, err = strconv.ParseInt(number, 10, 64); err != nil || second < 0 || !found {
		return 0, nil, fmt.Errorf("%.40q is not a place in a series", text)
	}
	for point := range strings.FieldsSeq(points) {
		var p record.Point
		if err := p.UnmarshalText([]byte(point)); err != nil {
			return 0, nil, err
		}
		open = append(open, p)
	}
	return second, open, nil
}

// snapshotReply is the reply of the script.
type snapshotReply struct {
	added     bool  // else points from another second on are missing
	processes int64 // that have taken part
	second    int64 // up to which the series has the worker's points
}

// send makes one call.
func (j *Journal) send(ctx context.Context, m *message) (a snapshotReply, err error) {
	k := j.run.Keys
	keys := []string{k.Budget, k.Totals, k.Snapshots, k.Series, k.Spec, k.Workers, k.Due, k.Events, k.Laws, k.ByLoad, k.Unowned, k.Log, k.Data, k.Values, k.Samples}
	args := []any{j.run.UID, j.worker + "/" + j.incarnation, m.total, m.interval, streamLength, m.seq, m.counts, m.from, m.next, m.open}
	reply, err := j.script.Run(ctx, j.run.Client, keys, append(args, m.pages...)...).StringSlice()
	if err != nil {
		return a, fmt.Errorf("publish snapshot: %w", err)
	}
	if len(reply) != 3 {
		return a, fmt.Errorf("publish snapshot: the answer has %d parts; use the same version of loadctl and loadworker", len(reply))
	}
	if reply[0] != "OK" && reply[0] != "FROM" {
		return a, fmt.Errorf("publish snapshot: run %s: %w", j.run.Name, run.ErrNoRun)
	}
	a.added = reply[0] == "OK"
	a.processes, _ = strconv.ParseInt(reply[1], 10, 64)
	if a.second, err = strconv.ParseInt(reply[2], 10, 64); err != nil {
		return a, fmt.Errorf("publish snapshot: %w", spec.Broken(j.run.Name, "read series: "+err.Error()))
	}
	return a, nil
}
