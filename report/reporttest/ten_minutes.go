package reporttest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/threshold"
)

// TenMinutes returns the input of a run of ten minutes, after this many of its seconds: its rate is changed twice, a
// worker is lost at 300 s and replaced at 312 s, and Redis fails over at 450 s. Before its end the run is Running, and
// its workers are active. Before 300 s the lost worker is called lost too.
func TenMinutes(t testing.TB, seconds int64) report.Input {
	t.Helper()
	in := tenMinutesAsked(t)
	dice := rand.New(rand.NewPCG(1, 2))
	for w := range 8 {
		worker := &tenMinutesWorker{place: w, to: seconds}
		switch w {
		case 6: // it is lost
			worker.to = min(300, seconds)
		case 7: // it joins
			worker.from = 312
		}
		in.Workers = append(in.Workers, worker.input(dice, in.StartedAt))
		in.Budget.Issued += in.Workers[w].Leased
	}
	in.Duration, in.Running = time.Duration(seconds)*time.Second, seconds < 600
	for w := range in.Workers {
		if in.Running {
			in.Workers[w].State, in.Workers[w].Gone, in.Workers[w].Total.Final = "active", false, false
		}
	}
	in.Workers[6].State, in.Workers[6].Gone = "lost", true
	var due int64
	for s := range seconds {
		due += tenMinutesRate(s)
	}
	in.Budget.Skipped, in.Budget.Issued = due-in.Budget.Issued, due
	end := in.StartedAt.Add(in.Duration)
	in.Events = slices.DeleteFunc(tenMinutesEvents(in.StartedAt), func(e report.Event) bool { return e.At.After(end) })
	return in
}

// tenMinutesRate returns the rate asked for in a second.
func tenMinutesRate(s int64) int64 {
	switch {
	case s < 180:
		return 400
	case s < 480:
		return 800
	}
	return 560
}

// tenMinutesAsked returns what was asked for.
func tenMinutesAsked(t testing.TB) report.Input {
	t.Helper()
	in := report.Input{
		Run: "checkout", StartedAt: time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC), TargetRate: 560,
		AskedBy: func(from, to int64) (n int64) {
			for us := from; us < to; us += 1_000_000 {
				n += tenMinutesRate(us/1_000_000) * min(1_000_000, to-us) / 1_000_000
			}
			return n
		},
		Described: report.Description{
			Setting: report.Setting{Method: "POST", URL: "https://shop.example/checkout",
				Flags:    []string{"--method", "POST", "--url", "https://shop.example/checkout", "--header", "Authorization: [redacted]", "--qps", "400", "--duration", "10m"},
				Withheld: []string{"--header Authorization"}},
			CreatedBy: "loadctl 1.4.0", ReportedBy: "loadctl 1.4.0", Redis: "7.0.15",
		},
	}
	for _, text := range []string{"latency:p(99)<250ms", "errors:rate<1%", "latency:p(95)<120ms over 10s"} {
		threshold, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Thresholds = append(in.Thresholds, threshold)
		in.Described.Flags = append(in.Described.Flags, "--threshold", text)
	}
	return in
}

// A tenMinutesWorker takes part in the seconds [from, to).
type tenMinutesWorker struct {
	place    int
	from, to int64
}

// input returns what the worker did.
func (w *tenMinutesWorker) input(dice *rand.Rand, started time.Time) report.WorkerInput {
	series, rec, total := new(record.Series), record.NewRecorder(), record.NewSnapshot(fmt.Sprintf("load-%d", w.place+1), "a1b2")
	total.Host = fmt.Sprintf("node-%d", w.place/2)
	for s := w.from; s < w.to; s++ {
		if s >= 300 && s < 304 && w.place < 3 { // the share of the lost one is taken over a little later
			continue
		}
		n := tenMinutesRate(s) / 7
		if s >= 300 && s < 312 {
			n = tenMinutesRate(s) / 6
		}
		part := record.NewSnapshot(total.Worker, total.Incarnation)
		for range n {
			rec.Sent()
			rec.Done(tenMinutesSample(dice, s))
		}
		part.Record(rec)
		rec.Reset()
		series.Add(s*1_000_000+500_000, part)
		total.Merge(part)
	}
	total.Final = true
	measured := Beat()
	measured.Self.Wall = (w.to - w.from) * Second
	measured.JudgeBeat()
	total.Self = measured.Self
	total.Counts.SeenLate = int64(w.place * 3)
	points := series.Points()
	return report.WorkerInput{ID: total.Worker, Incarnation: "a1b2", State: "left", Gone: true, LastSeen: started.Add(time.Duration(w.to) * time.Second),
		Leased: total.Counts.Sent, Total: total, Series: points}
}

// tenMinutesSample returns a request of a second. It is slower the higher the rate is, and while others take over a
// worker's share.
func tenMinutesSample(dice *rand.Rand, s int64) record.Finished {
	busy := math.Pow(float64(tenMinutesRate(s))/800, 2)
	if s >= 300 && s < 330 {
		busy *= 1 + 3*math.Exp(-float64(s-300)/8)
	}
	took := (8 + 10*busy) * math.Exp(0.35*dice.NormFloat64()) // ms
	sample := record.Finished{Sent: int64(40_000 * dice.ExpFloat64()), Status: 200, BytesIn: 1400, BytesOut: 380}
	switch p := dice.Float64(); {
	case p < 0.02*busy:
		took *= 5
	case p < 0.022*busy:
		took *= 14
	case s >= 300 && s < 316 && p > 0.93, s >= 180 && s < 480 && p > 0.9985:
		sample.Status, sample.Class = 503, "status"
	case s >= 450 && s < 456 && p > 0.96:
		sample.Status, sample.Class, took = 0, "timeout", 1000
	}
	sample.Done = sample.Sent + int64(took*1_000_000)
	return sample
}

// tenMinutesEvents are a fleet that joins, and five marks.
func tenMinutesEvents(started time.Time) []report.Event {
	at := func(s int) time.Time { return started.Add(time.Duration(s) * time.Second) }
	all := []report.Event{{At: at(-20), Kind: "create", Who: "ann@desk", What: ""}}
	for w := range 7 {
		all = append(all, report.Event{At: at(-18 + w), Kind: "join", Who: fmt.Sprintf("load-%d", w+1), What: "weight 1"})
	}
	return append(all, report.Event{At: at(-1), Kind: "start", Who: "load-7", What: "first slot in 1000 ms"}, report.Event{At: at(180), Kind: "set-rate", Who: "ann@desk", What: "800 per second"}, report.Event{At: at(300), Kind: "lost", Who: "load-7", What: "silent for 3 s"},
		report.Event{At: at(312), Kind: "join", Who: "load-8", What: "weight 1"}, report.Event{At: at(450), Kind: "failover", Who: "-", What: "a new generation begins at 450.2 s"}, report.Event{At: at(480), Kind: "set-rate", Who: "ann@desk", What: "560 per second"})
}
