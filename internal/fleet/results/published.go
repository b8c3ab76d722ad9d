package results

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report/record"
)

// totals are the cumulative snapshots of a run, by worker/incarnation. The histograms of thousands of workers would
// fill the memory. So each is read, added to times and dropped.
type totals struct {
	of    map[string]*record.Snapshot
	times *record.Snapshot
	gaps  map[string]int64
}

// readTotals reads them, on all cores. If the snapshot of a file replaces a stored one, the histograms of the stored
// one are not added.
func readTotals(ctx context.Context, r *run.Run, rest map[string]*Unpublished) (totals, error) {
	t := totals{of: map[string]*record.Snapshot{}, times: record.NewSnapshot("", ""), gaps: map[string]int64{}}
	var all sync.Mutex // for t and failure
	var failure error
	var decoding sync.WaitGroup
	texts := make(chan [2]string, 64) // worker/incarnation, snapshot
	for range runtime.GOMAXPROCS(0) {
		decoding.Go(func() {
			times := record.NewSnapshot("", "")
			for text := range texts {
				total := new(record.Snapshot)
				err := total.UnmarshalBinary([]byte(text[1]))
				if u := rest[text[0]]; err == nil && (u == nil || !newer(u.Total, total)) {
					times.TakeTimes(total)
				}
				all.Lock()
				if t.of[text[0]] = total; err != nil {
					failure = unreadable(r, text[0], err)
				}
				all.Unlock()
			}
			all.Lock()
			defer all.Unlock()
			t.times.TakeTimes(times)
		})
	}
	err := link.ScanHash(ctx, r.Client, r.Keys.Totals, func(name, text string) (err error) {
		switch key, what, part := strings.Cut(name, ":"); {
		case !part:
			texts <- [2]string{key, text}
		case what == "gaps":
			if t.gaps[key], err = strconv.ParseInt(text, 10, 64); err != nil {
				return unreadable(r, key, err)
			}
		}
		return nil
	})
	close(texts)
	decoding.Wait()
	if err := cmp.Or(failure, err); err != nil {
		return t, run.Explain("read snapshots of", r.Name, err)
	}
	return t, nil
}

// unreadable returns the error that a worker's published snapshot cannot be read.
func unreadable(r *run.Run, worker string, err error) error {
	id, _, _ := strings.Cut(worker, "/")
	return spec.Broken(r.Name, fmt.Sprintf("read snapshot of worker %s: %v", id, err))
}

// unrecorded returns what was published by workers of which the server has no record: a failover forgot that they
// joined, and they have ended since. What they did still counts.
func (t totals) unrecorded() map[string]*Unpublished {
	found := map[string]*Unpublished{}
	for key, total := range t.of {
		found[key] = &Unpublished{State: "left", Leased: total.Counts.Slots(), Total: total}
	}
	return found
}

// readSeries reads the points of the run: the merged ones, and those of each worker that are not merged yet. If a
// worker's file counts, the points of the file replace the latter. The returned map replaces rest, and its files have
// no other points.
func readSeries(ctx context.Context, r *run.Run, rest map[string]*Unpublished, t totals) ([]record.Point, map[string]*Unpublished, error) {
	var columns record.Columns
	var workers []string
	err := link.ScanHash(ctx, r.Client, r.Keys.Series, func(name, text string) error {
		if !strings.HasPrefix(name, ":") {
			workers = append(workers, name)
			return nil
		}
		if err := columns.Read(name, []byte(text)); err != nil {
			return spec.Broken(r.Name, "read series: "+err.Error())
		}
		return nil
	})
	if err != nil {
		return nil, nil, run.Explain("read series of", r.Name, err)
	}
	points, rest := columns.Points(), maps.Clone(rest)
	// After the pages: in an active run a point may be missing, but none is there twice.
	for part := range slices.Chunk(workers, 1000) {
		records, err := r.Client.HMGet(ctx, r.Keys.Series, part...).Result()
		if err != nil {
			return nil, nil, run.Explain("read series of", r.Name, err)
		}
		for i, record := range records {
			text, _ := record.(string)
			second, open, err := parseRecord(text)
			if err != nil {
				return nil, nil, spec.Broken(r.Name, fmt.Sprintf("read series: worker %.100q: %v", part[i], err))
			}
			if u := rest[part[i]]; u != nil && newer(u.Total, t.of[part[i]]) {
				rest[part[i]] = u.since(second)
				continue
			}
			points = append(points, open...)
		}
	}
	return points, rest, nil
}

// since returns u without the points that begin before a second of the run.
func (u *Unpublished) since(second int64) *Unpublished {
	rest := *u
	rest.Series = slices.DeleteFunc(slices.Clone(u.Series), func(p record.Point) bool { return p.Start() < second })
	return &rest
}
