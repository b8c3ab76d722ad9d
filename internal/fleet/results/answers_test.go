package results

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
)

// farSide is the server that queries go to.
type farSide struct {
	url   string
	asked atomic.Int64
	says  atomic.Value // the body of each answer
}

// asking returns a server that answers each query with a value.
func (b *bed) asking(value string) *farSide {
	b.Helper()
	f := new(farSide)
	f.answer(value)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		f.asked.Add(1)
		fmt.Fprint(w, f.says.Load())
	}))
	b.Cleanup(s.Close)
	f.url = s.URL
	return f
}

// answer changes the value.
func (f *farSide) answer(value string) {
	f.says.Store(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"` + value + `"]}]}}`)
}

// queried returns a run of 100 requests a second that two workers share, and that asks for cpu.
func (b *bed) queried(f *farSide, thresholds ...string) *run.Run {
	b.Helper()
	s := constant(100)
	s.Thresholds, s.Prometheus, s.QueryStale = thresholds, f.url, spec.MinQueryStale
	s.Queries = []report.Query{{Name: "cpu", PromQL: "max(cpu)"}}
	r, _ := b.create("x", s, run.Options{Keep: time.Hour})
	b.member(r, "a").start()
	b.member(r, "b").renew()
	return r
}

// quiet is a hook that changes nothing.
func quiet() farAway { return farAway{fails: func(string) error { return nil }} }

// cpu returns what the query answered, by the report of the run.
func (b *bed) cpu(r *run.Run) report.QueryReport {
	b.Helper()
	rep, err := Report(b.Context(), r)
	if err != nil {
		b.Fatal(err)
	}
	if len(rep.Queries) != 1 {
		b.Fatalf("%+v", rep.Queries)
	}
	return rep.Queries[0]
}

// TestQueriesAreKept: a run without thresholds asks its queries too. The answers live as long as the run, and go with it.
func TestQueriesAreKept(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		f := b.asking("0.25")
		r := b.queried(f)
		b.judgedBy(r, "a/inca", slog.New(slog.DiscardHandler), quiet())
		await.True(b, "two answers", func() bool { return b.cpu(r).N >= 2 })
		if got := b.cpu(r); got.Min != 0.25 || got.Max != 0.25 || got.Avg != 0.25 || got.Missed > 0 || got.PromQL != "max(cpu)" {
			t.Errorf("%+v", got)
		}
		if ttl := b.client.PTTL(t.Context(), r.Keys.Values).Val(); ttl < 50*time.Minute || ttl > time.Hour {
			t.Errorf("the answers live for %v, and the run for an hour", ttl)
		}
		if err := run.Remove(t.Context(), b.client, "x", true); err != nil {
			t.Fatal(err)
		}
		if err := storeAnswers(t.Context(), r, 1, map[string]record.Value{"cpu": record.Answer(1)}); err != nil {
			t.Error(err)
		}
		if n := b.client.Exists(t.Context(), r.Keys.Values).Val(); n != 0 {
			t.Error("answers of a run that was removed are left")
		}
	})
}

// TestNewRunHasNoOldAnswers: a run that takes the name of another one begins without answers.
func TestNewRunHasNoOldAnswers(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r := b.queried(b.asking("1"))
		if err := storeAnswers(t.Context(), r, 1, map[string]record.Value{"cpu": record.Answer(1)}); err != nil {
			t.Fatal(err)
		}
		b.must(r.Stop(t.Context(), nil))
		again, _ := b.create("x", constant(5), run.Options{New: true})
		if n := b.client.Exists(t.Context(), again.Keys.Values).Val(); n != 0 || again.UID == r.UID {
			t.Error("the answers of the old run are there")
		}
	})
}

// TestOnlyTheJudgeAsks: a worker has queries asked only while it has the lock of the judge.
func TestOnlyTheJudgeAsks(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r := b.queried(b.asking("1"))
		j := &judge{own: r, aside: func(context.Context) (*run.Run, error) { return r, nil }, me: "a/inca", log: slog.New(slog.DiscardHandler), asker: &asker{turns: make(chan turn, 1)}}
		for holder, want := range map[string]int{"b/incb": 0, "a/inca": 1} {
			b.client.Set(t.Context(), r.Keys.Judge, holder, time.Hour)
			if _, _, err := j.look(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := len(j.asker.turns); got != want {
				t.Errorf("%s judges: %d turns of %s, want %d", holder, got, j.me, want)
			}
			for range want {
				<-j.asker.turns
			}
		}
	})
}

// TestAskedEveryFiveSeconds: however often the judge looks, a query is asked every 5 s.
func TestAskedEveryFiveSeconds(t *testing.T) {
	b := newBed(t)
	f := b.asking("1")
	r := b.queried(f)
	ctx, cancel := context.WithCancel(t.Context())
	a := newAsker(ctx, r.Spec, slog.New(slog.DiscardHandler))
	began := time.Now().Add(-time.Hour)
	for i := range 41 { // two looks a second, for 20 s, each up to 0.1 s late
		late := time.Duration(i%3) * 50 * time.Millisecond
		a.turns <- turn{r, time.Minute, began.Add(time.Duration(i)*time.Second/2 + late)}
	}
	cancel()
	await.Closed(b, "the end", ctx.Done())
	if n := f.asked.Load(); n < 4 || n > 5 { // at 0, 5, 10, 15 and 20 s, or half a second earlier
		t.Errorf("asked %d times", n)
	}
}

// TestQueryAborts: an answer above the limit stops the run, and its report says which.
func TestQueryAborts(t *testing.T) {
	b := newBed(t)
	f := b.asking("0.5")
	const condition = "query{cpu}:value<0.8 over 10s abort after 1"
	r := b.queried(f, condition)
	b.judgedBy(r, "a/inca", slog.New(slog.DiscardHandler), quiet())
	await.True(b, "a judged window", func() bool { return b.state(r).Elapsed() > 15*time.Second })
	if s := b.state(r); s.Phase != "running" {
		t.Fatalf("the run is %s though the query answers 0.5", s.Phase)
	}
	f.answer("0.9")
	await.True(b, "the stop", func() bool { return b.state(r).Phase == "stopped" })
	rep, err := Report(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := rep.Thresholds[0]; got.Result != threshold.Failed || got.Value == nil || *got.Value != 0.9 {
		t.Errorf("%+v", got)
	}
	stop := rep.Events[len(rep.Events)-1]
	if stop.Kind != "stop" || !strings.HasPrefix(stop.What, "threshold "+condition+" failed at second ") {
		t.Errorf("%+v", stop)
	}
}

// TestBlindQueryAborts: a query without an answer stops the run after --query-stale, whatever the reason. It is logged once.
func TestBlindQueryAborts(t *testing.T) {
	b := newBed(t)
	f := b.asking("NaN")
	r := b.queried(f, "query{cpu}:value<0.8 over 10s abort after 1")
	var logged lockedText
	b.judgedBy(r, "a/inca", slog.New(slog.NewTextHandler(&logged, nil)), quiet())
	await.True(b, "the stop", func() bool { return b.state(r).Phase == "stopped" })
	s, got := b.state(r), b.cpu(r)
	if s.Elapsed() < spec.MinQueryStale || got.N > 0 || got.Missed < 2 {
		t.Errorf("stopped after %v, %+v", s.Elapsed(), got)
	}
	if text := logged.String(); strings.Count(text, "the query has no value") != 1 || !strings.Contains(text, "query=cpu") || !strings.Contains(text, "maybe it divides by 0") {
		t.Error(text)
	}
	rep, err := Report(t.Context(), r)
	if err != nil || rep.Thresholds[0].Result != threshold.Failed || !strings.HasPrefix(rep.Thresholds[0].Text, "no answer to the query for longer than --query-stale") {
		t.Errorf("%+v, %v", rep.Thresholds, err)
	}
}

// TestSlowQuery: a server that hangs neither delays the judge, nor is it asked again before it has answered.
func TestSlowQuery(t *testing.T) {
	b := newBed(t)
	held, release := make(chan struct{}, 100), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		held <- struct{}{}
		<-release
	}))
	defer s.Close()
	defer close(release)
	r := b.queried(&farSide{url: s.URL}, "rate:rate>110 over 1s abort after 4")
	b.judgedBy(r, "a/inca", slog.New(slog.DiscardHandler), quiet())
	await.Receive(b, "a query", held)
	await.True(b, "the stop", func() bool { return b.state(r).Phase == "stopped" })
	if n := len(held); n > 1 {
		t.Errorf("asked %d times more", n)
	}
}

// TestAnswersOfAnyWidth: a judge sees each answer once, also where points become wider.
func TestAnswersOfAnyWidth(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r := b.queried(b.asking("1"))
		j := &judge{own: r, run: r, thresholds: []threshold.Threshold{{Query: "cpu"}}, width: 2}
		for i, second := range []int64{0, 3, 1000, 1000, 1023, 1024, 1025, 1030} {
			if err := storeAnswers(t.Context(), r, second, map[string]record.Value{"cpu": record.Answer(float64(i))}); err != nil {
				t.Fatal(err)
			}
		}
		answers, err := j.answers(t.Context(), 1010, 1030)
		if err != nil {
			t.Fatal(err)
		}
		for second, want := range map[int64]record.Value{
			1000: {N: 2, Min: 2, Avg: 2.5, Max: 3}, 1022: record.Answer(4), 1024: {N: 2, Min: 5, Avg: 5.5, Max: 6}, 1026: {}, 1030: {},
		} {
			if got := answers.At("cpu", second); got != want {
				t.Errorf("%d s: %+v, want %+v", second, got, want)
			}
		}
		if got := answers.At("ram", 1000); got != (record.Value{}) {
			t.Errorf("another query: %+v", got)
		}
		j.width = 1
		if answers, err = j.answers(t.Context(), 0, 1); err != nil || answers.At("cpu", 0) != record.Answer(0) {
			t.Errorf("%+v, %v", answers.At("cpu", 0), err)
		}
	})
}

// TestTwoAskers: answers that two workers store for the same point one after the other are both kept.
func TestTwoAskers(t *testing.T) {
	b := newBed(t)
	r := b.queried(b.asking("1"))
	for i := range 20 {
		if err := storeAnswers(t.Context(), r, 2000, map[string]record.Value{"cpu": record.Answer(float64(i))}); err != nil {
			t.Fatal(err)
		}
	}
	var writing sync.WaitGroup // at the same time: some may be lost, but what is there is whole
	for range 4 {
		writing.Go(func() {
			for range 20 {
				if err := storeAnswers(t.Context(), r, 2000, map[string]record.Value{"cpu": {Missed: 1}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	points, err := readAnswers(t.Context(), r)
	if err != nil || len(points) != 1 || points[0].Width != 2 || points[0].Of["cpu"].N != 20 || points[0].Of["cpu"].Missed < 20 {
		t.Errorf("%+v, %v", points, err)
	}
}

// TestBrokenAnswers: damaged answers are an error that says so.
func TestBrokenAnswers(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r := b.queried(b.asking("1"))
		for name, text := range map[string]string{
			"1:0": "x", "1:1": `{"cpu":{"n":1,"min":2,"avg":1,"max":3}}`, "1:2": `{"cpu":{"n":0,"min":1}}`, "1:3": `{"c p u":{"n":0}}`, "x": "{}", "3:1": "{}", "1:1024": "{}", "01:1": "{}", "1:1:1": "{}",
		} {
			b.client.Del(t.Context(), r.Keys.Values)
			b.client.HSet(t.Context(), r.Keys.Values, name, text)
			_, err := Report(t.Context(), r)
			b.wants(err, spec.ErrBroken, "run x", "loadctl rm x")
		}
		b.client.Del(t.Context(), r.Keys.Values)
		b.client.HSet(t.Context(), r.Keys.Values, "1:7", "hunter2")
		b.wants(storeAnswers(t.Context(), r, 7, nil), spec.ErrBroken, "run x")
	})
}
