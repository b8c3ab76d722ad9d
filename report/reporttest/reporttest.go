package reporttest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/archive"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
)

// Run returns the input of a small run: two workers, one of them killed, with an answer of each kind and each reason
// for not sending.
func Run(t testing.TB) report.Input {
	t.Helper()
	const ms = 1_000_000
	in := report.Input{
		Run:        "checkout",
		StartedAt:  time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC),
		Duration:   10 * time.Second,
		TargetRate: 200,
		Budget:     report.Budget{Issued: 2_028, Skipped: 5},
		AskedBy:    func(from, to int64) int64 { return (to - from) * 200 / 1_000_000 },
	}
	in.Described = report.Description{
		Setting: report.Setting{
			Method: "POST", URL: "http://redacted@127.0.0.1:8080/pay?a=1&b=2",
			Flags: []string{"--url", "http://redacted@127.0.0.1:8080/pay?a=1&b=2", "--header", "Authorization: [redacted]", "--body", "it's |one|",
				"--qps", "200", "--duration", "10s"},
			Withheld: []string{"--url", "--header Authorization"},
		},
		CreatedBy: "loadctl 1.2.3", Redis: "7.0.15",
		Commands: []report.Command{{At: in.StartedAt.Add(-time.Second), Command: "create", Who: "ann@desk"},
			{At: in.StartedAt.Add(3 * time.Second), Command: "set-rate", Who: "ann@desk", What: "200 per second"}},
	}
	in.Events = []report.Event{{At: in.StartedAt.Add(-time.Second), Kind: "create", Who: "ann@desk", What: "u1"},
		{At: in.StartedAt.Add(-time.Millisecond), Kind: "join", Who: "host-1", What: "weight 1"},
		{At: in.StartedAt.Add(3 * time.Second), Kind: "set-rate", Who: "ann@desk", What: "200 per second"},
		{At: in.StartedAt.Add(10 * time.Second), Kind: "stopped", Who: "host-1", What: "a1b2"}}
	for id, sent := range []int64{1_000, 1_010} {
		rec, series, total := record.NewRecorder(), new(record.Series), record.NewSnapshot(fmt.Sprintf("host-%d", id+1), "a1b2")
		for i := range sent {
			s := record.Finished{Sent: 20_000 * (i % 5), Done: (1 + i%40) * ms, Status: 200, BytesIn: 1_500, BytesOut: 120}
			switch {
			case i%100 == 0:
				s.Status, s.Class = 503, "status"
			case i%250 == 1:
				s.Status, s.Class, s.Done = 0, "timeout", 2_000*ms
			}
			rec.Sent()
			if i < 1_005 {
				rec.Done(s)
			}
			if i%101 == 100 || i == sent-1 {
				part := record.NewSnapshot(total.Worker, total.Incarnation)
				part.Record(rec)
				rec.Reset()
				series.Add(i*10_000, part)
				total.Merge(part)
			}
		}
		total.Counts.LateDropped, total.Counts.Recalled = 2, 1
		total.Counts.SeenLate, total.Counts.Busy, total.Counts.Opening, total.Counts.NoRoom = 1, 40, 30, 20
		total.Final = true
		measured := Beat()
		measured.Self.Shard.Worst += Second * 8 / 10 * int64(id) // of the second worker that is too much
		measured.JudgeBeat()
		total.Self = measured.Self
		points := series.Points()
		in.Workers = append(in.Workers, report.WorkerInput{
			ID: total.Worker, Incarnation: total.Incarnation, State: []string{"left", "dead"}[id], Gone: true, Gaps: int64(id),
			LastSeen: in.StartedAt.Add(10 * time.Second), Leased: sent + []int64{4, 8}[id], Beyond: 2,
			Total: total, Series: points,
		})
	}
	in.Budget.Issued = in.Workers[0].Leased + in.Workers[1].Leased + in.Budget.Skipped
	return in
}

// Queried returns an input with three queries, of which one gives no answer: one with negative values, of which many are in a
// point, and one with large ones.
func Queried(in report.Input) report.Input {
	in.Queries = []report.Query{{Name: "free", PromQL: `min(free{a="<b>"}) - 5`}, {Name: "sent_bytes", PromQL: "sum(bytes)"}, {Name: "away", PromQL: "up"}}
	in.QueryStale = 5 * time.Second
	for second := int64(0); second < int64(in.Duration/time.Second); second += 5 {
		p := record.ValuePointAt(second)
		for _, v := range []float64{-3.3 - float64(second), 1.5} {
			p.Add(map[string]record.Value{"free": record.Answer(v), "away": {Missed: 1}})
		}
		p.Add(map[string]record.Value{"sent_bytes": record.Answer(2e18 + 1e15*float64(second))})
		in.Values = append(in.Values, p)
	}
	return in
}

// Phased returns an input whose workers have seen first bytes of answers, and opened connections: each one looked up,
// with TLS.
func Phased(in report.Input) report.Input {
	const ms = 1_000_000
	for i, w := range in.Workers {
		c := &w.Total.Connections
		for n := range int64(120) {
			w.Total.FirstByte.Histogram().Record((1 + n%37) * ms)
			if n < 10 {
				c.DNS.Histogram().Record(n * ms / 5)
				c.Connect.Histogram().Record((n + 2) * ms / 3)
				c.TLS.Histogram().Record((n + 5) * ms)
			}
		}
		c.Opened, c.Reused, c.ClosedByServer = 10, 1_234, int64(i)
	}
	return in
}

// Streamed returns an input whose answers came in pieces, as from a language model, and had goals. Each of 60 requests of a worker
// has 2 to 21 events.
func Streamed(in report.Input) report.Input {
	const ms = 1_000_000
	for _, w := range in.Workers {
		for n := range int64(60) {
			rec := record.NewRecorder()
			f := record.Finished{Sent: ms, Done: 900 * ms, Judged: true, Good: n%10 > 0}
			f.Stream = &record.Stream{First: (100 + n) * ms, Last: (100 + n + (1+n%20)*15) * ms, Events: 2 + n%20, TokensIn: 7, TokensOut: 2 + n%20, Usage: n%3 == 0, PerToken: 15 * ms}
			for range 1 + n%20 {
				rec.Gap(0, (10+n%7)*ms)
			}
			inPieces(w, n, rec, f)
		}
	}
	return in
}

// Terse returns an input whose answers came from a language model that said nothing of tokens. Each of 60 requests of a worker
// has one event.
func Terse(in report.Input) report.Input {
	const ms = 1_000_000
	for _, w := range in.Workers {
		for n := range int64(60) {
			at := (100 + n) * ms
			inPieces(w, n, record.NewRecorder(), record.Finished{Sent: ms, Done: at, Stream: &record.Stream{First: at, Last: at, Events: 1, TokensOut: 1}})
		}
	}
	return in
}

// inPieces adds request n of 60 of a worker, whose answer came in pieces.
func inPieces(w report.WorkerInput, n int64, rec *record.Recorder, f record.Finished) {
	rec.Done(f)
	s := record.NewSnapshot("", "")
	s.Record(rec)
	w.Total.Streams.Merge(&s.Streams)
	w.Total.Counts.Judged += s.Counts.Judged
	w.Total.Counts.Good += s.Counts.Good
	if all := int64(len(w.Series)); all > 0 {
		w.Series[n*all/60].Add(&record.Point{Streams: &s.Streams, Judged: s.Counts.Judged, Good: s.Counts.Good})
	}
}

// Loop returns the input of a closed loop: a worker that is gone sent 5 requests, and another one, which may have been
// killed, sent 3.
func Loop(final bool) report.Input {
	worker := func(id string, n int, final bool) report.WorkerInput {
		r := record.NewRecorder()
		for i := range n {
			r.Sent()
			r.Done(record.Finished{Due: 1000, Sent: 1000, Done: 1_000_000 * int64(i+2), Status: 200})
		}
		s := record.NewSnapshot(id, "1")
		s.Record(r)
		s.Final = final
		return report.WorkerInput{ID: id, State: "left", Gone: true, Total: s}
	}
	return report.Input{Run: "x", ClosedLoop: true, Workers: []report.WorkerInput{worker("a", 5, true), worker("b", 3, final)}}
}

// Second is one, in ns.
const Second = int64(1_000_000_000)

// Beat returns a snapshot of one quiet second of a worker with two cores and two shards, in which 1000 requests were
// sent.
func Beat() *record.Snapshot {
	s := record.NewSnapshot("w", "1")
	s.Counts = record.Counts{Sent: 1000, Completed: 1000}
	s.Self = record.Self{
		Wall: Second, Cores: 2, CPU: record.NewLoad(Second/2, 2*Second), Wait: record.NewLoad(Second/100, 2*Second), Shard: record.NewLoad(Second/4, 2*Second),
		ShardWait: record.NewLoad(Second/100, 2*Second), Pause: record.NewLoad(Second/10_000, Second), Steal: record.NewLoad(Second/100, 2*Second),
	}
	return s
}

// Durations returns n random values from below 1 µs to above 1 h, some of them negative: log-uniform, as from a hostile
// endpoint.
func Durations(rng *rand.Rand, n int) []int64 {
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(math.Exp(rng.Float64()*math.Log(5e12))) - 50
	}
	return values
}

// Allocated returns how many bytes f allocates.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Interval returns a snapshot with n completed requests of the given latency.
func Interval(n int64, latency int64) *record.Snapshot {
	s := record.NewSnapshot("w", "i")
	s.Counts.Sent, s.Counts.Completed = n, n
	for range n {
		s.Latency.Record(latency)
	}
	return s
}

// Scribbled is a report full of characters with a meaning in some format.
func Scribbled(t *testing.T) report.Report {
	evil := strings.Repeat("<!-- `|\"' ]]> & \x1b[2J\u202e\\ \xff @all [x](http://y) **b** \n# EOF\n", 30)
	in := Run(t)
	in.Run, in.Limiter, in.Described.URL = evil, evil, evil
	in.Described.Flags = []string{"--url", evil, "--body", evil}
	for range 300 {
		in.Missing = append(in.Missing, evil)
	}
	r := report.Build(in)
	for i := range 300 {
		r.StatusCodes[fmt.Sprint(evil, i)], r.Errors[fmt.Sprint(evil, i)] = 1, 1
		r.Workers = append(r.Workers, report.WorkerReport{ID: fmt.Sprint(i, evil), State: evil, Verdicts: []record.Verdict{{Limit: "generator", Cause: fmt.Sprint(i, evil), Text: evil}}})
	}
	return r
}

// EveryFormat returns a report in each format.
func EveryFormat(t testing.TB, r report.Report) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range render.Formats() {
		render, err := render.Format(name)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := render(&text, r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = text.String()
	}
	return all
}

// Reread returns r after a round trip through an archive.
func Reread(t testing.TB, r report.Report) report.Report {
	t.Helper()
	var text bytes.Buffer
	if err := archive.Write(&text, r); err != nil {
		t.Fatalf("%v, audit %+v", err, r.Audit)
	}
	back, err := archive.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// SameFormats compares each format of two reports byte for byte.
func SameFormats(t *testing.T, what string, got, want report.Report) {
	t.Helper()
	g, w := EveryFormat(t, got), EveryFormat(t, want)
	for name := range w {
		if g[name] != w[name] {
			t.Errorf("%s: %s differs:\n%.2000s\nwant\n%.2000s", what, name, g[name], w[name])
		}
	}
}

// Fates draws the fate of the slots of one incarnation, and returns the counts of the server and of the incarnation.
func Fates(rng *rand.Rand, asked *int64) report.WorkerInput {
	var c record.Counts
	w := report.WorkerInput{ID: "w", Gone: rng.IntN(2) == 0}
	for range rng.IntN(1_000) {
		w.Leased++
		if rng.IntN(10) == 0 { // at or after a cut
			w.Beyond++
			switch rng.IntN(3) {
			case 0:
				c.Sent++ // overrun
			case 1:
				c.Recalled++
			default: // not accounted for
			}
			continue
		}
		*asked++
		switch rng.IntN(10) {
		case 0:
			c.LateDropped++
		case 1: // not accounted for
		case 2:
			c.Ungranted++
		default:
			c.Sent++
		}
	}
	c.Completed = rng.Int64N(c.Sent + 1)
	c.Failed = rng.Int64N(c.Sent - c.Completed + 1)
	w.Total = Snapshot(c)
	if rng.IntN(20) == 0 {
		w.Total = nil // it died before its first snapshot
	}
	return w
}

// Snapshot returns a cumulative snapshot with these counters.
func Snapshot(c record.Counts) *record.Snapshot {
	s := record.NewSnapshot("w", "i")
	s.Counts = c
	return s
}
