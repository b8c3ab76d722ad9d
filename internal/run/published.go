package run

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

	"github.com/loadctl/loadctl/report"
)

// totals are the cumulative snapshots of a run, by worker/incarnation. Of thousands of workers the histograms would fill the memory, so each is read,
// added to times and dropped.
type totals struct {
	of    map[string]*report.Snapshot
	times *report.Snapshot
	gaps  map[string]int64
}

// totals reads them, on all cores. Snapshots in the place of which that of a file counts keep their histograms to themselves.
func (r *Run) totals(ctx context.Context, rest map[string]*Unpublished) (totals, error) {
	t := totals{of: map[string]*report.Snapshot{}, times: report.NewSnapshot("", ""), gaps: map[string]int64{}}
	var all sync.Mutex // for t and failure
	var failure error
	var decoding sync.WaitGroup
	texts := make(chan [2]string, 64) // worker/incarnation, snapshot
	for range runtime.GOMAXPROCS(0) {
		decoding.Go(func() {
			times := report.NewSnapshot("", "")
			for text := range texts {
				total := new(report.Snapshot)
				err := total.UnmarshalBinary([]byte(text[1]))
				if u := rest[text[0]]; err == nil && (u == nil || !newer(u.Total, total)) {
					times.TakeTimes(total)
				}
				all.Lock()
				if t.of[text[0]] = total; err != nil {
					failure = r.unreadable(text[0], err)
				}
				all.Unlock()
			}
			all.Lock()
			defer all.Unlock()
			t.times.TakeTimes(times)
		})
	}
	err := scanHash(ctx, r.client, r.keys.Totals, func(name, text string) (err error) {
		switch key, what, part := strings.Cut(name, ":"); {
		case !part:
			texts <- [2]string{key, text}
		case what == "gaps":
			if t.gaps[key], err = strconv.ParseInt(text, 10, 64); err != nil {
				return r.unreadable(key, err)
			}
		}
		return nil
	})
	close(texts)
	decoding.Wait()
	if err := cmp.Or(failure, err); err != nil {
		return t, explain("read snapshots of", r.Name, err)
	}
	return t, nil
}

// unreadable is about what a worker has published.
func (r *Run) unreadable(worker string, err error) error {
	id, _, _ := strings.Cut(worker, "/")
	return broken(r.Name, fmt.Sprintf("read snapshot of worker %s: %v", id, err))
}

// unrecorded is what those published of whom the server has no record any more: a failover forgot that they joined, and they have ended
// since. What they did counts all the same.
func (t totals) unrecorded() map[string]*Unpublished {
	found := map[string]*Unpublished{}
	for key, total := range t.of {
		found[key] = &Unpublished{State: "left", Leased: total.Counts.Slots(), Total: total}
	}
	return found
}

// series reads the points of the run: the merged ones, and those of each worker that are not among them yet. Of a worker whose file counts, those of
// the file are taken in the place of the latter: instead of rest, others are returned that have no more than these.
func (r *Run) series(ctx context.Context, rest map[string]*Unpublished, t totals) ([]report.Point, map[string]*Unpublished, error) {
	var columns report.Columns
	var workers []string
	err := scanHash(ctx, r.client, r.keys.Series, func(name, text string) error {
		if !strings.HasPrefix(name, ":") {
			workers = append(workers, name)
			return nil
		}
		if err := columns.Read(name, []byte(text)); err != nil {
			return broken(r.Name, "read series: "+err.Error())
		}
		return nil
	})
	if err != nil {
		return nil, nil, explain("read series of", r.Name, err)
	}
	points, rest := columns.Points(), maps.Clone(rest)
	for part := range slices.Chunk(workers, 1000) { // after the pages: in a run that goes on a point may be missing, but none is there twice
		records, err := r.client.HMGet(ctx, r.keys.Series, part...).Result()
		if err != nil {
			return nil, nil, explain("read series of", r.Name, err)
		}
		for i, record := range records {
			text, _ := record.(string)
			second, open, err := parseRecord(text)
			if err != nil {
				return nil, nil, broken(r.Name, fmt.Sprintf("read series: worker %.100q: %v", part[i], err))
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

// since is u without the points that begin before a second of the run.
func (u *Unpublished) since(second int64) *Unpublished {
	rest := *u
	rest.Series = slices.DeleteFunc(slices.Clone(u.Series), func(p report.Point) bool { return p.Start() < second })
	return &rest
}
