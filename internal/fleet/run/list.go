package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report"
)

// Entry is one run in a list.
type Entry struct {
	Run       string    `json:"run"`
	CreatedAt time.Time `json:"created_at"`
	// As in State; broken, newer or older if this program cannot read it; unreachable if Redis does not answer.
	Phase          string    `json:"phase"`
	Members        int64     `json:"members"`
	Rate           float64   `json:"rate"`
	ClosedLoop     bool      `json:"closed_loop,omitempty"` // it has no rate: see report.Report
	Concurrency    int64     `json:"concurrency,omitempty"` // as in State
	Asked          int64     `json:"asked"`
	report.Setting           // empty if it is unknown
	EndedAt        time.Time `json:"-"` // zero = it is not over, or it is unknown
	Err            error     `json:"-"` // why it is unreachable; else nil
}

// How many runs are read at the same time: on a cluster the runs of a node that hangs do not block the others. And
// how long writing the list may take when a run is created, joined or changed.
const (
	listedAtOnce = 32
	listPatience = time.Second
)

// List returns all runs, oldest first. It forgets names whose state has expired. A run that cannot be reached,
// because its part of the cluster is down, is an Entry with an Err. If ctx has ended, List also returns what was
// read.
func List(ctx context.Context, client rdb.Client) ([]Entry, error) {
	names, err := client.ZRangeWithScores(ctx, index, 0, -1).Result()
	if err != nil {
		err = link.Advise(fmt.Errorf("list runs: %w", err))
		if link.IsCluster(client) {
			err = fmt.Errorf("%w; one node of the cluster has the list; commands that name a run work without it", err)
		}
		return nil, err
	}
	entries := make([]Entry, len(names))
	free := make(chan struct{}, listedAtOnce)
	var all sync.WaitGroup
	for i, z := range names {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			name, _ := z.Member.(string)
			e, err := entry(ctx, client, name)
			if errors.Is(err, ErrNoRun) {
				client.ZRem(ctx, index, name)
				return
			}
			e.CreatedAt = time.Unix(int64(z.Score), 0).UTC()
			entries[i] = e
		})
	}
	all.Wait()
	return slices.DeleteFunc(entries, func(e Entry) bool { return e.Run == "" }), context.Cause(ctx)
}

// list puts a new run on the list. The run does not depend on it.
func (r *Run) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	return r.Client.ZAdd(ctx, index, redis.Z{Score: float64(time.Now().Unix()), Member: r.Name}).Err()
}

// Relist puts the run on the list if it is missing: its creator may have died before, or the list may have been
// unreachable. A run that is over or removed is not listed.
func (r *Run) Relist(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	if !r.Ended.IsZero() {
		return nil
	}
	err := r.Client.ZScore(ctx, index, r.Name).Err()
	if !errors.Is(err, redis.Nil) {
		return err
	}
	now, err := Open(ctx, r.Client, r.Name)
	if errors.Is(err, ErrNoRun) || err == nil && (now.UID != r.UID || !now.Ended.IsZero()) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.Client.ZAddNX(ctx, index, redis.Z{Score: float64(r.created(ctx).Unix()), Member: r.Name}).Err()
}

// unwritten returns why the list cannot be written, in words. nil stays nil.
func unwritten(err error) error {
	if link.Unanswered(err) {
		return fmt.Errorf("the server that has it does not answer: %w", err)
	}
	return link.Advise(err)
}

// created returns when the run was created, by its first event; without one, now.
func (r *Run) created(ctx context.Context) time.Time {
	first := r.Client.XRangeN(ctx, r.Keys.Events, "-", "+", 1).Val()
	if len(first) == 1 {
		text, _, _ := strings.Cut(first[0].ID, "-") // ms of the Redis clock
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
			return time.UnixMilli(ms)
		}
	}
	return time.Now()
}

// entry returns the line of one run. Its only error is ErrNoRun. A run that cannot be read is listed too, as its name
// is taken.
func entry(ctx context.Context, client rdb.Client, name string) (Entry, error) {
	e := Entry{Run: name, Setting: report.Setting{Flags: []string{}, Withheld: []string{}}}
	if ValidateName("run", name) != nil {
		return e, ErrNoRun
	}
	r, err := Open(ctx, client, name)
	var s *State
	if err == nil {
		s, err = r.State(ctx)
	}
	switch {
	case errors.Is(err, spec.ErrBroken):
		e.Phase = "broken"
	case errors.Is(err, spec.ErrNewer):
		e.Phase = "newer"
	case errors.Is(err, spec.ErrOlder):
		e.Phase = "older"
	case errors.Is(err, ErrNoRun):
		return e, err
	case err != nil:
		e.Phase, e.Err = "unreachable", err
	default:
		e.Phase, e.Members, e.Rate, e.Asked, e.ClosedLoop, e.EndedAt = s.Phase, s.Members, s.Rate, s.Asked, r.Spec.Max, s.EndedAt
		e.Setting, e.Concurrency = r.Spec.Setting(), s.Concurrency
	}
	return e, nil
}
