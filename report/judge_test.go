package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/threshold"
)

// judgedRun returns the input of a run of some seconds with 100 requests in each. Each request takes ms(second), and
// some fail.
func judgedRun(seconds int64, ms func(second int64) int64, failed func(second, i int64) bool) report.Input {
	total, series := record.NewSnapshot("w1", "a"), new(record.Series)
	for second := range seconds {
		rec, part := record.NewRecorder(), record.NewSnapshot("w1", "a")
		for i := range int64(100) {
			s := record.Finished{Done: ms(second) * 1e6, Status: 200}
			if failed != nil && failed(second, i) {
				s.Status, s.Class = 503, "status"
			}
			rec.Sent()
			rec.Done(s)
		}
		part.Record(rec)
		series.Add(second*1_000_000+500_000, part)
		total.Merge(part)
	}
	total.Final = true
	points := series.Points()
	return report.Input{
		Run: "x", StartedAt: time.Unix(1, 0), Duration: time.Duration(seconds) * time.Second, TargetRate: 100, Budget: report.Budget{Issued: 100 * seconds},
		AskedBy: func(from, to int64) int64 { return (to - from) / 10_000 },
		Workers: []report.WorkerInput{{ID: "w1", Incarnation: "a", State: "stopped", Leased: 100 * seconds, Gone: true, Total: total, Series: points}},
	}
}

// steady is ten seconds of requests of 20 ms each.
func steady() report.Input { return judgedRun(10, func(int64) int64 { return 20 }, nil) }

// verdict judges a run by one threshold.
func verdict(t *testing.T, in report.Input, text string) threshold.Result {
	t.Helper()
	condition, err := threshold.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	in.Thresholds = []threshold.Threshold{condition}
	r := report.Build(in)
	if err := r.CheckAudit(); err != nil {
		t.Fatal(err)
	}
	return r.Thresholds[0]
}

// judgedAs returns the results of thresholds.
type judgedAs struct{ threshold, result, text string }

func checkVerdicts(t *testing.T, in report.Input, rows []judgedAs) {
	t.Helper()
	for _, row := range rows {
		if got := verdict(t, in, row.threshold); got.Result != row.result || !strings.HasPrefix(got.Text, row.text) {
			t.Errorf("%s: %s, %q, want %s, %q", row.threshold, got.Result, got.Text, row.result, row.text)
		}
	}
}

// TestThresholds: every metric and aggregate, met and not.
func TestThresholds(t *testing.T) {
	in := judgedRun(10, func(second int64) int64 { return 10 * (second + 1) }, func(_, i int64) bool { return i%20 == 0 }) // 10 to 100 ms, 5 % fail
	checkVerdicts(t, in, []judgedAs{
		{"latency:p(50)<51ms", threshold.Passed, "50.0ms"},
		{"latency:med<51", threshold.Passed, "50.0ms"},
		{"latency:p(50)<50ms", threshold.Failed, "50.0ms"}, // the upper edge of the bucket, not what is in the middle of it
		{"latency:p(99)<=101ms", threshold.Passed, "100ms"},
		{"latency:p(99)<99ms", threshold.Failed, "100ms"},
		{"latency:max<101ms", threshold.Passed, "100ms"},
		{"latency:min>9ms", threshold.Passed, "9.99ms"},
		{"latency:p(0)>9ms", threshold.Passed, "9.99ms"},
		{"latency:min>11ms", threshold.Failed, "9.99ms"},
		{"latency:avg<56ms", threshold.Passed, "55.0ms"},
		{"latency:avg<54ms", threshold.Failed, "55.0ms"},
		{"service:p(100)<101", threshold.Passed, "100ms"},
		{"lag:max<1ms", threshold.Passed, "0.51µs"},
		{"errors:rate<5%", threshold.Failed, "5.00 %"},
		{"errors:rate<=5%", threshold.Passed, "5.00 %"},
		{"errors:count==50", threshold.Passed, "50"},
		{"errors:count!=50", threshold.Failed, "50"},
		{"checks:rate>=0.95", threshold.Passed, "95.00 %"},
		{"checks:rate>0.95", threshold.Failed, "95.00 %"},
		{"checks:count>949", threshold.Passed, "950"},
		{"status:count==1000", threshold.Passed, "1000"},
		{"status{code=503}:rate<6%", threshold.Passed, "5.00 %"},
		{"status{code=5xx}:count<50", threshold.Failed, "50"},
		{"status{code=404}:count==0", threshold.Passed, "0"},
		{"rate:rate>99/s", threshold.Passed, "100/s"},
		{"rate:avg>100", threshold.Failed, "100/s"},
		{"rate:count>=1k", threshold.Passed, "1000"},
		{"dropped:count==0", threshold.Passed, "0"},
		{"dropped:rate<1%", threshold.Passed, "0.00 %"},
	})
}

// TestThresholdsOver: a few bad seconds are enough, wherever they are.
func TestThresholdsOver(t *testing.T) {
	in := judgedRun(60, func(second int64) int64 {
		if second >= 50 {
			return 400
		}
		return 10
	}, func(second, _ int64) bool { return second >= 58 })
	checkVerdicts(t, in, []judgedAs{
		{"latency:p(50)<250ms", threshold.Passed, "10.0ms"},
		{"latency:p(50)<250ms over 10s", threshold.Failed, "401ms in seconds 46 to 56, 5 of 51 windows failed"},
		{"errors:rate<5%", threshold.Passed, "3.33 %"},
		{"errors:rate<5% over 10s", threshold.Failed, "20.00 % in seconds 50 to 60, 2 of 51 windows failed"},
		{"errors:rate<50% over 3s", threshold.Failed, "66.66 % in seconds 57 to 60, 1 of 58 windows failed"},
		{"errors:rate<70% over 3s", threshold.Passed, "66.66 % in seconds 57 to 60"},
		{"checks:rate>90% over 1s", threshold.Failed, "0.00 % in seconds 58 to 59, 2 of 60 windows failed"},
		{"rate:rate>99 over 5s", threshold.Passed, "100/s in seconds 0 to 5"},
		{"rate:count>500 over 5s", threshold.Failed, "500 in seconds 0 to 5, 56 of 56 windows failed"},
		{"latency:max<1s over 60s", threshold.Passed, "401ms in seconds 0 to 60"},
		{"latency:max<1s over 61s", threshold.Undecided, "the run had no window of 1m1s"},
	})
	got := verdict(t, in, "errors:rate<5% over 10s")
	if got.WindowS != 10 || got.AtS == nil || *got.AtS != 50 || got.Value == nil || *got.Value != 0.2 || got.Unit != "share" {
		t.Errorf("%+v", got)
	}
}

// TestWarmupIsLeftOut: slow or failed requests in the warm-up do not count; later ones do.
func TestWarmupIsLeftOut(t *testing.T) {
	in := judgedRun(20, func(second int64) int64 { return 100 - 90*min(second/5, 1) }, func(second, _ int64) bool { return second < 5 })
	checkVerdicts(t, in, []judgedAs{{"latency:max<50ms", threshold.Failed, "100ms"}, {"errors:count==0", threshold.Failed, "500"}})
	in.Warmup = 5 * time.Second
	checkVerdicts(t, in, []judgedAs{
		{"latency:max<50ms", threshold.Passed, "10.0ms"}, {"errors:count==0", threshold.Passed, "0"}, {"errors:count==0 over 5s", threshold.Passed, "0 in seconds 5 to 10"},
		{"rate:count==1500", threshold.Passed, "1500"}, {"rate:rate==100", threshold.Passed, "100/s"},
	})
	in.Warmup = 4 * time.Second
	checkVerdicts(t, in, []judgedAs{{"errors:count==0", threshold.Failed, "100"}, {"errors:count==0 over 5s", threshold.Failed, "100 in seconds 4 to 9, 1 of 12"}})
	in.Warmup = 20 * time.Second
	checkVerdicts(t, in, []judgedAs{{"errors:count==0", threshold.Undecided, "nothing was measured after the warm-up"}})
}

// TestNothingIsUndecided: no data proves nothing. A time in which nothing was asked for, as in a pause, is no window.
func TestNothingIsUndecided(t *testing.T) {
	checkVerdicts(t, report.Input{}, []judgedAs{
		{"errors:rate<1%", threshold.Undecided, "nothing was measured"}, {"latency:p(99)<1s", threshold.Undecided, "nothing was measured"},
		{"rate:count<1", threshold.Undecided, "nothing was measured"}, {"dropped:count==0", threshold.Undecided, "nothing was measured"},
		{"errors:rate<1% over 1s", threshold.Undecided, "the run had no window"},
	})
	in := steady()
	points := in.Workers[0].Series
	points[4].Add(&points[3])
	in.Workers[0].Series = append(points[:3:3], points[4:]...) // nothing in second 3, but later
	checkVerdicts(t, in, []judgedAs{
		{"errors:rate<1% over 1s", threshold.Undecided, "nothing was measured in seconds 3 to 4"}, {"errors:rate<1% over 2s", threshold.Passed, "0.00 %"},
	})
	all := in.AskedBy
	in.AskedBy = func(from, to int64) int64 { // a pause
		if from == 3_000_000 {
			return 0
		}
		return all(from, to)
	}
	checkVerdicts(t, in, []judgedAs{{"errors:rate<1% over 1s", threshold.Passed, "0.00 %"}})
	in.ClosedLoop = true // in which nothing is asked for: all connections may be waiting for answers
	checkVerdicts(t, in, []judgedAs{{"errors:rate<1% over 1s", threshold.Undecided, "nothing was measured in seconds 3 to 4"}})
}

// paused asks for nothing from one instant to another, in µs, and sends that many fewer.
func paused(in report.Input, begin, end int64) report.Input {
	in.AskedBy = func(from, to int64) int64 {
		return (to - from - max(0, min(to, end)-max(from, begin))) / 10_000
	}
	points := in.Workers[0].Series
	for i := range points {
		n := in.AskedBy(int64(i)*1_000_000, int64(i+1)*1_000_000)
		points[i].Sent, points[i].Completed = n, n
	}
	return in
}

// TestPauseIsNoLowRate: a window that contains a part of a pause has only a part of the requests.
func TestPauseIsNoLowRate(t *testing.T) {
	in := paused(judgedRun(30, func(int64) int64 { return 20 }, nil), 10_400_000, 17_600_000)
	in.Running = true // the audit has them all
	in.Workers[0].Total.Counts.Sent, in.Workers[0].Total.Counts.Completed = 2280, 2280
	checkVerdicts(t, in, []judgedAs{
		{"rate:rate>90 over 5s", threshold.Passed, "100/s in seconds 0 to 5"},
		{"rate:count>=500 over 5s", threshold.Passed, "500"},
		{"rate:rate>90 over 1s", threshold.Passed, "100/s"},
		{"rate:rate>110 over 5s", threshold.Failed, "100/s in seconds 0 to 5, 14 of 14 windows failed"},
		{"rate:rate<90 over 5s", threshold.Failed, "100/s"},
		{"rate:rate>90 over 25s", threshold.Undecided, "in each window nothing was asked for, or the run was paused"},
		{"rate:rate>90", threshold.Failed, "76/s"}, // all the time of the run
	})
	for end := int64(1); end <= 30; end++ {
		for _, text := range []string{"rate:rate>90 over 1s abort after 1", "rate:rate>90 over 5s abort after 3", "rate:rate>110 over 5s abort after 3"} {
			condition, err := threshold.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			s := threshold.Stretch{Width: 1, End: end, Points: in.Workers[0].Series[:end], Asked: in.AskedBy, Paused: end >= 11 && end <= 17}
			if want := condition.Limit == 110 && (end >= 7 && end <= 10 || end >= 25); condition.Aborts(s) != want {
				t.Errorf("%s at %d: %v", text, end, !want)
			}
		}
	}
	slow := judgedRun(30, func(int64) int64 { return 20 }, nil) // of a rate at which most seconds have nothing
	slow.AskedBy = func(from, to int64) int64 { return to/5_000_000 - from/5_000_000 }
	for i := range slow.Workers[0].Series {
		n := slow.AskedBy(int64(i)*1_000_000, int64(i+1)*1_000_000)
		slow.Workers[0].Series[i].Sent, slow.Workers[0].Series[i].Completed = n, n
	}
	slow.Running = true
	slow.Workers[0].Total.Counts.Sent, slow.Workers[0].Total.Counts.Completed = 6, 6
	checkVerdicts(t, slow, []judgedAs{{"rate:rate>=0.2 over 5s", threshold.Passed, "0.2/s"}, {"rate:rate>0.3 over 5s", threshold.Failed, "0.2/s"}})
}

// late drops n of the requests of a run.
func late(in report.Input, n int64) report.Input {
	in.Workers[0].Total.Counts.LateDropped = n
	in.Workers[0].Leased += n
	in.Budget.Issued += n
	return in
}

// TestLowerBoundsProveFailureOnly: dropped requests are slower than all others by an unknown amount.
func TestLowerBoundsProveFailureOnly(t *testing.T) {
	in := late(steady(), 20) // 2 %
	checkVerdicts(t, in, []judgedAs{
		{"latency:p(97)<25ms", threshold.Passed, "20.0ms"},
		{"latency:p(97)<15ms", threshold.Failed, "20.0ms"},
		{"latency:p(99)<25ms", threshold.Undecided, "≥ 20.0ms"},
		{"latency:p(99)<15ms", threshold.Failed, "≥ 20.0ms"},
		{"latency:max<1h", threshold.Undecided, "≥ 20.0ms"},
		{"latency:avg<25ms", threshold.Undecided, "≥ 20.0ms"},
		{"latency:avg<15ms", threshold.Failed, "≥ 20.0ms"},
		{"latency:min<25ms", threshold.Passed, "20.0ms"},
		{"lag:p(99)<1ms", threshold.Undecided, "≥ "},
		{"service:p(99)<25ms", threshold.Passed, "20.0ms"},   // what was sent has all of it
		{"latency:p(99)>15ms", threshold.Passed, "≥ 20.0ms"}, // it is more than that in any case
		{"latency:p(99)>25ms", threshold.Undecided, "≥ 20.0ms"},
		{"dropped:count<20", threshold.Failed, "20"},
		{"dropped:rate<2%", threshold.Passed, "1.96 %"},
		// All of them may have been in one window.
		{"latency:p(97)<25ms over 10s", threshold.Passed, "20.1ms"},
		{"latency:p(97)<25ms over 5s", threshold.Undecided, "≥ 20.1ms"},
		{"latency:p(97)<15ms over 5s", threshold.Failed, "≥ 20.1ms"},
		{"errors:rate<1% over 1s", threshold.Passed, "0.00 %"},
	})
	if got := verdict(t, in, "latency:p(99)<25ms"); !got.Bound {
		t.Errorf("%+v", got)
	}
}

// missing removes the final snapshot from a run: the fate of n more requests is unknown.
func missing(in report.Input, n int64) report.Input {
	in.Workers[0].Total.Final = false
	in.Workers[0].Leased += n
	in.Budget.Issued += n
	return in
}

// TestIncompleteProvesFailureOnly: and only if the missing requests could not change the result.
func TestIncompleteProvesFailureOnly(t *testing.T) {
	in := missing(judgedRun(10, func(int64) int64 { return 20 }, func(_, i int64) bool { return i%5 == 0 }), 100) // 200 of 1000 failed

	for _, row := range []judgedAs{
		{"errors:rate<30%", threshold.Undecided, "20.00 %, but the report is INCOMPLETE"},
		{"errors:rate<19%", threshold.Undecided, "20.00 %, but missing data may change it"}, // 200 of 1100
		{"errors:rate<18%", threshold.Failed, "20.00 %"},
		{"errors:rate<25%", threshold.Undecided, "20.00 %"},
		{"errors:count<200", threshold.Failed, "200"},
		{"errors:count<250", threshold.Undecided, "200"},
		{"errors:count>250", threshold.Undecided, "200"},
		{"errors:count>300", threshold.Failed, "200"},
		{"checks:rate>70%", threshold.Undecided, "80.00 %"},
		{"checks:rate>90%", threshold.Failed, "80.00 %"},
		{"latency:p(50)<15ms", threshold.Failed, "20.0ms"},
		{"latency:p(5)<15ms", threshold.Undecided, "20.0ms"},
		{"latency:p(99)<25ms", threshold.Undecided, "≥ 20.0ms"},
		{"latency:min>15ms", threshold.Undecided, "20.0ms"},
		{"latency:min>25ms", threshold.Failed, "20.0ms"},
		{"latency:avg<15ms", threshold.Failed, "20.0ms"},
		{"latency:avg<19ms", threshold.Undecided, "20.0ms"}, // 18.2 if the others took no time
		{"rate:rate>99", threshold.Undecided, "100/s"},
		{"rate:rate>105", threshold.Undecided, "100/s"},
		{"rate:rate>110", threshold.Failed, "100/s"},
		{"rate:count<1k", threshold.Failed, "1000"},
		{"dropped:count<1", threshold.Undecided, "100"},
		{"dropped:count<200", threshold.Undecided, "100"},
		{"status{code=503}:rate<10%", threshold.Failed, "20.00 %"},
	} {
		if got := verdict(t, in, row.threshold); got.Result != row.result || !strings.HasPrefix(got.Text, row.text) {
			t.Errorf("%s: %s, %q, want %s, %q", row.threshold, got.Result, got.Text, row.result, row.text)
		}
	}
	in.ClosedLoop = true // what was missed is not bounded by slots
	for threshold, result := range map[string]string{"errors:rate<18%": threshold.Undecided, "errors:count<200": threshold.Failed, "latency:p(50)<15ms": threshold.Undecided} {
		if got := verdict(t, in, threshold); got.Result != result {
			t.Errorf("closed loop, %s: %+v, want %s", threshold, got, result)
		}
	}
	if why := strings.Join(report.Build(in).Invalid(), ""); !strings.Contains(why, "INCOMPLETE") {
		t.Error(why)
	}
}

// TestLostPointsProveNothing: Redis has lost some or all points of the series. Figures of the whole run are known, but
// no window is.
func TestLostPointsProveNothing(t *testing.T) {
	in := judgedRun(20, func(int64) int64 { return 20 }, func(second, _ int64) bool { return second < 2 })
	points := in.Workers[0].Series
	in.Workers[0].Series = append(points[:5:5], points[10:]...) // 500 of 2000 requests
	checkVerdicts(t, in, []judgedAs{
		{"rate:rate>90 over 5s", threshold.Undecided, "0/s"},
		{"rate:rate>201 over 5s", threshold.Failed, "0/s in seconds 5 to 10, 16 of 16 windows failed"}, // the others may have 200/s at most
		{"errors:rate<25% over 5s", threshold.Undecided, "nothing"},                                    // 20 % if what is missing was there
		{"errors:rate<10% over 2s", threshold.Failed, "100.00 %"},
		{"latency:p(50)<15ms over 5s", threshold.Undecided, ""},
		{"rate:rate>90", threshold.Undecided, "100/s"}, // the report is incomplete
		{"rate:rate>110", threshold.Failed, "100/s"},
	})
	in.Warmup = 3 * time.Second
	checkVerdicts(t, in, []judgedAs{{"rate:rate>90", threshold.Undecided, ""}, {"errors:rate<1%", threshold.Undecided, ""}})
	in.Warmup, in.Workers[0].Series = 0, nil
	checkVerdicts(t, in, []judgedAs{
		{"rate:rate>90 over 5s", threshold.Undecided, "0/s"}, {"rate:rate>401 over 5s", threshold.Failed, "0/s"}, {"errors:rate<1% over 5s", threshold.Undecided, "nothing was measured"},
		{"errors:rate<1%", threshold.Failed, "10.00 %"},
	})
}

// TestThresholdsOnSingleWorkerReport: a report of one worker does not know what others sent. That may raise the rate and lower
// the share of errors.
func TestThresholdsOnSingleWorkerReport(t *testing.T) {
	in := judgedRun(10, func(int64) int64 { return 20 }, func(_, i int64) bool { return i%20 == 0 })
	in.Missing, in.Workers[0].State = []string{"nobody could be asked"}, "alone"
	checkVerdicts(t, in, []judgedAs{
		{"rate:rate>250", threshold.Undecided, "100/s"},
		{"rate:rate>250 over 5s", threshold.Undecided, "100/s"},
		{"rate:rate<50", threshold.Failed, "100/s"},
		{"rate:rate>50", threshold.Undecided, "100/s"}, // incomplete reports pass nothing
		{"errors:rate<1%", threshold.Undecided, "5.00 %"},
		{"errors:rate<1% over 5s", threshold.Undecided, "5.00 %"},
		{"errors:count<50", threshold.Failed, "50"},
		{"checks:rate>99%", threshold.Undecided, "95.00 %"},
		{"dropped:count<1", threshold.Undecided, "0"},
		{"latency:p(99)<10ms", threshold.Undecided, "20.0ms"},
		{"latency:max<10ms", threshold.Failed, "≥ 20.0ms"},
	})
}

// limitedBy returns the input with the verdicts of a worker that a second changes.
func limitedBy(in report.Input, change func(second *record.Snapshot)) report.Input {
	second := reporttest.Beat()
	change(second)
	second.JudgeBeat()
	total := in.Workers[0].Total
	total.Self = second.Self
	total.Counts.SeenLate = second.Counts.SeenLate
	for class, e := range second.Errors {
		total.Class(class).Count += e.Count
	}
	return in
}

// busy makes a shard of the generator a limit.
func busy(second *record.Snapshot) { second.Self.Shard.Worst += reporttest.Second * 8 / 10 }

// TestGeneratorLimit: if the generator delayed requests, limits that contain the delay stand, and so do limits on
// failures. Others are undecided.
func TestGeneratorLimit(t *testing.T) {
	const limit = ", but the generator was the limit: worker w1 (shard_cpu)"
	fifth := func(_, i int64) bool { return i%5 == 0 }
	in := limitedBy(judgedRun(10, func(int64) int64 { return 20 }, fifth), busy)
	rows := []judgedAs{
		{"latency:p(99)<25ms", threshold.Passed, "20.0ms"},
		{"latency:p(99)<25ms over 5s", threshold.Passed, "20.1ms"},
		{"latency:p(99)<15ms", threshold.Undecided, "20.0ms" + limit},
		{"latency:p(50)>15ms", threshold.Undecided, "20.0ms" + limit},
		{"latency:p(50)>25ms", threshold.Failed, "20.0ms"}, // without delays it was shorter still
		{"latency:p(50)!=1ms", threshold.Undecided, "20.0ms" + limit},
		{"lag:max<1s", threshold.Passed, "0.51µs"},
		{"service:p(99)<25ms", threshold.Undecided, "20.0ms" + limit},
		{"service:p(99)<15ms", threshold.Undecided, "20.0ms" + limit},
		{"rate:rate>50", threshold.Undecided, "100/s" + limit},
		{"rate:rate>200", threshold.Undecided, "100/s" + limit},
		{"dropped:count==0", threshold.Passed, "0"},
		{"dropped:count>1", threshold.Failed, "0"},
		{"errors:rate<1%", threshold.Failed, "20.00 %"},
		{"errors:rate<30%", threshold.Passed, "20.00 %"},
		{"errors:rate>10%", threshold.Undecided, "20.00 %" + limit},
		{"errors:count>300", threshold.Undecided, "200" + limit},
		{"checks:rate>70%", threshold.Passed, "80.00 %"},
		{"checks:rate>90%", threshold.Failed, "80.00 %"},
		{"checks:count>900", threshold.Undecided, "800" + limit}, // perhaps too few were sent
		{"status{code=503}:count==0", threshold.Failed, "200"},
		{"status{code=503}:count<300", threshold.Passed, "200"},
		{"status{code=200}:rate>90%", threshold.Failed, "80.00 %"},
		{"status{code=200}:count>900", threshold.Undecided, "800" + limit},
	}
	checkVerdicts(t, in, rows)
	in.Running = true // preliminary results have no doubts
	checkVerdicts(t, in, []judgedAs{{"latency:p(99)<15ms", threshold.Failed, "20.0ms"}, {"rate:rate>50", threshold.Passed, "100/s"}})
}

// TestLateRequestsProve: an upper limit on latency that is met with late requests in it is met, and nothing is wrong.
func TestLateRequestsProve(t *testing.T) {
	late := func(n int64) func(*record.Snapshot) { return func(s *record.Snapshot) { s.Counts.SeenLate = n } }
	gate := func(in report.Input, text string) report.Report {
		condition, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Thresholds = []threshold.Threshold{condition}
		return report.Build(in)
	}
	for _, c := range []struct {
		late          int64 // of 1000
		text, outcome string
		says          string // of the check of the generator
	}{
		{15, "latency:p(95)<50ms", threshold.Passed, "the generator was a limit, but decided no threshold: w1, generator: "},
		{15, "errors:rate<1%", threshold.Passed, "the generator was a limit, but decided no threshold: "},
		{30, "latency:p(95)<50ms", threshold.Passed, "the generator was a limit, but decided no threshold: "},
		{30, "errors:rate<1%", report.Invalid, "w1, generator: "},
		{15, "latency:p(95)<10ms", report.Invalid, "w1, generator: "},
		{15, "rate:rate>90", report.Invalid, "w1, generator: "},
		{0, "rate:rate>90", threshold.Passed, "the workers were not the limit"},
	} {
		r := gate(limitedBy(steady(), late(c.late)), c.text)
		if got := r.GeneratorCheck(); r.Outcome() != c.outcome || !strings.HasPrefix(got.Text, c.says) || (got.Result == threshold.Passed) != (c.outcome == threshold.Passed) {
			t.Errorf("%d late, %s: %s, %+v, %+v", c.late, c.text, r.Outcome(), got, r.Thresholds)
		}
		if limited := len(r.Limits()) > 0; limited != (c.late > 0) {
			t.Errorf("%+v", r.Limits())
		}
	}
	if r := gate(limitedBy(steady(), late(30)), "errors:rate<1%"); fmt.Sprint(r.Invalid()) != "[the generator was the limit: worker w1 (late), and 3.00 % of the requests were late]" {
		t.Error(r.Invalid())
	}
	if r := report.Build(limitedBy(steady(), late(15))); r.GeneratorCheck().Result != threshold.Failed { // without thresholds it is what is to be known
		t.Errorf("%+v", r.GeneratorCheck())
	}
}

// TestWhatTheGeneratorDidNotSend: a run that lacks a good part of its load proves nothing that is met. Nor does one whose
// requests never reached the endpoint, or one that had no schedule.
func TestWhatTheGeneratorDidNotSend(t *testing.T) {
	const dropped = ", but the generator was the limit: worker w1 (shard_cpu), and 4.76 % of what was asked for was not sent"
	checkVerdicts(t, limitedBy(late(steady(), 50), busy), []judgedAs{
		{"latency:p(90)<25ms", threshold.Undecided, "20.0ms" + dropped},
		{"errors:rate<1%", threshold.Undecided, "0.00 %" + dropped},
		{"dropped:rate<10%", threshold.Undecided, "4.76 %" + dropped},
		{"errors:count<0.5", threshold.Undecided, "0" + dropped},
	})
	checkVerdicts(t, limitedBy(late(steady(), 15), busy), []judgedAs{
		{"latency:p(90)<25ms", threshold.Passed, "20.0ms"},
		{"latency:p(99)<25ms", threshold.Undecided, "≥ 20.0ms"}, // the dropped ones are slower than any limit
		{"dropped:rate<10%", threshold.Passed, "1.47 %"},
	})
	ports := limitedBy(steady(), func(s *record.Snapshot) { s.Class("ports").Count = 1 })
	ports.Workers[0].Total.Counts.Failed, ports.Workers[0].Total.Counts.Completed = 1, 999
	checkVerdicts(t, ports, []judgedAs{
		{"latency:p(90)<25ms", threshold.Undecided, "20.0ms, but the generator was the limit: worker w1 (ports)"}, {"errors:count==0", threshold.Failed, "1"},
	})
	loop := limitedBy(steady(), busy)
	loop.ClosedLoop, loop.Budget = true, report.Budget{}
	checkVerdicts(t, loop, []judgedAs{
		{"latency:p(90)<25ms", threshold.Undecided, "20.0ms, but the generator was the limit"}, {"latency:p(50)>25ms", threshold.Undecided, "20.0ms, but the generator"},
		{"errors:rate<1%", threshold.Undecided, "0.00 %, but the generator"}, {"checks:rate<1%", threshold.Undecided, "100.00 %, but the generator"},
	})
}

// TestThresholdsShow: a line each in the text, an object each in JSON, which comes back as it was.
func TestThresholdsShow(t *testing.T) {
	in := steady()
	for _, text := range []string{"latency:p(99)<25ms", "errors:count>0", "latency:max<1s over 20s"} {
		threshold, err := threshold.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Thresholds = append(in.Thresholds, threshold)
	}
	r := report.Build(in)
	var text, encoded bytes.Buffer
	if err := render.Text(&text, r); err != nil {
		t.Fatal(err)
	}
	const want = "thresholds  ✓ latency:p(99)<25ms: 20.0ms\n" +
		"            ✗ errors:count>0: 0\n" +
		"            ? latency:max<1s over 20s: the run had no window of 20s (undecided)\n"
	if !strings.Contains(text.String(), want) {
		t.Errorf("%s\nwant %s", text.String(), want)
	}
	if err := render.JSON(&encoded, r); err != nil {
		t.Fatal(err)
	}
	var back report.Report
	if err := json.Unmarshal(encoded.Bytes(), &back); err != nil || fmt.Sprint(results(back)) != fmt.Sprint(results(r)) || len(back.Thresholds) != 3 {
		t.Errorf("%v: %s", err, encoded.Bytes())
	}
	if value := *r.Thresholds[0].Value; int64(value) != r.Latency.P99 {
		t.Errorf("%v, the report has %d", value, r.Latency.P99)
	}
}

func results(r report.Report) (all []string) {
	for _, t := range r.Thresholds {
		all = append(all, t.Result, t.Text)
	}
	return all
}
