package results

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/promql"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/outage"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
)

// How often the queries of a run are asked, and how long it may take to store the answers.
const (
	askEvery   = 5 * time.Second
	storeLimit = 2 * time.Second
)

// An asker asks the queries of a run. Only the judge has it ask. One goroutine asks, because an answer may take longer than a
// look of the judge.
type asker struct {
	server *promql.Server
	turns  chan turn
	log    *slog.Logger
	failed map[string]*outage.Series // by query
}

// A turn says that the queries may be asked now.
type turn struct {
	run *run.Run
	now time.Duration // since the start of the run, by the clock of Redis
	at  time.Time     // when that was, by the clock of this process
}

// newAsker returns the asker of a run, which asks until ctx ends; nil if the run has no queries.
func newAsker(ctx context.Context, s spec.Spec, log *slog.Logger) *asker {
	if len(s.Queries) == 0 {
		return nil
	}
	a := &asker{server: promql.New(s.Prometheus, os.Getenv(promql.TokenVariable)), turns: make(chan turn), log: log, failed: map[string]*outage.Series{}}
	for _, q := range s.Queries {
		a.failed[q.Name] = new(outage.Series)
	}
	go a.work(ctx)
	return a
}

// turn lets the asker ask, unless it is still waiting for answers.
func (a *asker) turn(r *run.Run, s *run.State) {
	if a == nil {
		return
	}
	select {
	case a.turns <- turn{r, s.Now().Sub(s.StartedAt), time.Now()}:
	default:
	}
}

// work asks every askEvery, while it gets turns.
func (a *asker) work(ctx context.Context) {
	defer a.server.Close()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-a.turns:
			if since := t.at.Sub(last); last.IsZero() || since > askEvery-judgeEvery/2 { // turns come each second
				last = t.at
				a.ask(ctx, t)
			}
		}
	}
}

// ask asks all queries at the same time, and stores the answers.
func (a *asker) ask(ctx context.Context, t turn) {
	queries := t.run.Spec.Queries
	values, failures := make([]float64, len(queries)), make([]error, len(queries))
	var asking sync.WaitGroup
	for i, q := range queries {
		asking.Go(func() { values[i], failures[i] = a.server.Value(ctx, q.PromQL) })
	}
	asking.Wait()
	if ctx.Err() != nil {
		return
	}
	of := map[string]record.Value{}
	for i, q := range queries {
		if of[q.Name] = record.Answer(values[i]); failures[i] != nil {
			of[q.Name] = record.Value{Missed: 1}
		}
		a.note(q.Name, failures[i])
	}
	limit, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	second := int64((t.now + time.Since(t.at)) / time.Second)
	if err := storeAnswers(limit, t.run, second, of); err != nil && ctx.Err() == nil {
		a.log.Warn("the answers to the queries of this moment are lost", "err", err)
	}
}

// note logs the first failure of a series, each other kind of failure, and the end of the series.
func (a *asker) note(query string, err error) {
	switch seen := a.failed[query]; {
	case err == nil && seen.Over():
		a.log.Info("the query has a value again", "query", query)
	case err != nil && seen.Failed(err):
		a.log.Warn("the query has no value; its thresholds are undecided, and fail after --query-stale", "query", query, "why", err)
	}
}

// storeAnswers adds answers that came in a second of the run. If two judges do so at the same time, the answers of one may be
// lost.
func storeAnswers(ctx context.Context, r *run.Run, second int64, of map[string]record.Value) error {
	point, k := record.ValuePointAt(second), r.Keys
	before, err := r.Client.HGet(ctx, k.Values, point.Name()).Result()
	if err = ignoreNil(err); err != nil {
		return run.Explain("read answers of", r.Name, err)
	}
	if before != "" {
		if point, err = record.ParseValuePoint(point.Name(), before); err != nil {
			return spec.Broken(r.Name, err.Error())
		}
	}
	point.Add(of)
	text, err := point.Text()
	if err != nil {
		return fmt.Errorf("encode answers: %w", err)
	}
	if err := lua.Value().Run(ctx, r.Client, []string{k.Budget, k.Values}, r.UID, point.Name(), text).Err(); err != nil {
		return run.Explain("store answers of", r.Name, err)
	}
	return nil
}

// answers returns what was answered up to a second of the run, as far as windows from another second on need it, in points of
// the width that the judge looks at.
func (j *judge) answers(ctx context.Context, from, to int64) (threshold.Answers, error) {
	none := threshold.Answers{}
	stale := j.run.Spec.Stale()
	if !slices.ContainsFunc(j.thresholds, func(t threshold.Threshold) bool { return t.Query != "" }) {
		return none, nil
	}
	var names []string
	for second := max(0, from-int64(stale/time.Second)-j.width); second < to; second++ {
		if p := record.ValuePointAt(second); second == p.Start() || len(names) == 0 {
			names = append(names, p.Name())
		}
	}
	merged := map[int64]record.ValuePoint{}
	if len(names) > 0 {
		texts, err := j.run.Client.HMGet(ctx, j.run.Keys.Values, names...).Result()
		if err != nil {
			return none, fmt.Errorf("read answers of run %s: %w", j.run.Name, err)
		}
		for i, text := range texts {
			if text, there := text.(string); there {
				p, err := record.ParseValuePoint(names[i], text)
				if err != nil {
					return none, spec.Broken(j.run.Name, err.Error())
				}
				at := p.Start() / j.width
				if merged[at].Of == nil {
					merged[at] = record.ValuePoint{Of: map[string]record.Value{}}
				}
				merged[at].Add(p.Of)
			}
		}
	}
	at := func(query string, second int64) record.Value { return merged[second/j.width].Of[query] }
	return threshold.Answers{At: at, Stale: stale}, nil
}

// readAnswers reads all answers of a run.
func readAnswers(ctx context.Context, r *run.Run) (all []record.ValuePoint, err error) {
	if len(r.Spec.Queries) == 0 {
		return nil, nil
	}
	err = link.ScanHash(ctx, r.Client, r.Keys.Values, func(name, text string) error {
		p, err := record.ParseValuePoint(name, text)
		if err != nil {
			return spec.Broken(r.Name, "read answers: "+err.Error())
		}
		all = append(all, p)
		return nil
	})
	if err != nil {
		return nil, run.Explain("read answers of", r.Name, err)
	}
	return all, nil
}
