package record_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
)

// adapter changes it to a worker whose shards have no threads.
func adapter(s *record.Snapshot) { s.Self.Shard, s.Self.ShardWait = record.Load{}, record.Load{} }

// verdictCase is a change of a quiet second, and the resulting verdicts as "limit/cause".
type verdictCase struct {
	name, want string
	change     func(*record.Snapshot)
}

// TestVerdicts: each limit just at and just below its bound; alone, and with values that a system does not report.
func TestVerdicts(t *testing.T) {
	for _, c := range slices.Concat(ownVerdicts(), sharedVerdicts()) {
		one := reporttest.Beat()
		c.change(one)
		one.JudgeBeat()
		got := causes(one)
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		// For a short time in a long run all verdicts stay, except those about a share of all requests.
		long := record.NewSnapshot("w", "1")
		for range 999 {
			quiet := reporttest.Beat()
			if !one.Self.Shard.Known() {
				adapter(quiet)
			}
			quiet.JudgeBeat()
			long.Merge(quiet)
		}
		long.Merge(one)
		for v := range strings.FieldsSeq(c.want) {
			if strings.Contains(causes(long), v) == strings.HasSuffix(v, "/connect") {
				t.Errorf("%s: in a long run %q, of it %q", c.name, causes(long), v)
			}
		}
	}
}

// Part returns the load of a share f of a time.
func part(f float64, of int64) record.Load { return record.NewLoad(int64(f*float64(of)), of) }

// ownVerdicts are limits of the worker and its machine.
func ownVerdicts() []verdictCase {
	return []verdictCase{
		{"quiet", "", func(*record.Snapshot) {}},
		{"nothing measured", "", func(s *record.Snapshot) { s.Self = record.Self{} }},
		{"nothing sent", "", func(s *record.Snapshot) { s.Counts = record.Counts{} }},
		{"CPU", "generator/cpu", func(s *record.Snapshot) { s.Self.CPU = part(0.91, 2*reporttest.Second) }},
		{"CPU below", "", func(s *record.Snapshot) { s.Self.CPU = part(0.89, 2*reporttest.Second) }},
		{"CPU in half a beat", "", func(s *record.Snapshot) { s.Self.Wall, s.Self.CPU = reporttest.Second/4, part(1, reporttest.Second/2) }},
		{"one shard", "generator/shard_cpu", func(s *record.Snapshot) { s.Self.Shard.Worst = 950_000_000 }},
		{"all shards", "generator/cpu", func(s *record.Snapshot) {
			s.Self.CPU, s.Self.Shard = part(0.95, 2*reporttest.Second), part(0.95, 2*reporttest.Second)
		}},
		{"a shard waits", "generator/wait", func(s *record.Snapshot) { s.Self.ShardWait.Worst = 100_000_000 }},
		{"a shard waits a little", "", func(s *record.Snapshot) { s.Self.ShardWait.Worst = 99_000_000 }},
		{"others wait", "", func(s *record.Snapshot) { s.Self.Wait = part(0.5, 2*reporttest.Second) }},
		{"goroutines wait", "generator/wait", func(s *record.Snapshot) { adapter(s); s.Self.Wait = part(0.11, 2*reporttest.Second) }},
		{"collections", "generator/gc_pause", func(s *record.Snapshot) { s.Self.Pause = part(0.011, reporttest.Second) }},
		{"collections that waited for a core", "generator/wait", func(s *record.Snapshot) {
			s.Self.Pause, s.Self.ShardWait.Worst = part(0.05, reporttest.Second), 200_000_000
		}},
		{"collections without cores", "machine/steal", func(s *record.Snapshot) {
			s.Self.Pause, s.Self.Steal = part(0.05, reporttest.Second), part(0.06, 2*reporttest.Second)
		}},
		{"hypervisor", "machine/steal", func(s *record.Snapshot) { s.Self.Steal = part(0.06, 2*reporttest.Second) }},
		{"seen late", "generator/late", func(s *record.Snapshot) { s.Counts.SeenLate = 10 }},
		{"few seen late", "", func(s *record.Snapshot) { s.Counts.SeenLate = 9 }},
		{"seen late in half a beat", "generator/late", func(s *record.Snapshot) { s.Counts.SeenLate, s.Self.Wall = 10, reporttest.Second/4 }},
		{"all dropped", "generator/late", func(s *record.Snapshot) { s.Counts = record.Counts{LateDropped: 5, SeenLate: 5} }},
	}
}

// sharedVerdicts are limits of connections.
func sharedVerdicts() []verdictCase {
	return []verdictCase{
		{"busy", "endpoint/busy", func(s *record.Snapshot) { s.Counts.Busy = 15 }}, // 5 came while the shard waited,
		{"seldom busy", "", func(s *record.Snapshot) { s.Counts.Busy = 14 }},
		{"busy because it waits", "generator/wait", func(s *record.Snapshot) { s.Counts.Busy, s.Self.ShardWait.Worst = 700, reporttest.Second*7/10 }},
		{"busy while it waits", "generator/wait", func(s *record.Snapshot) { s.Counts.Busy, s.Self.ShardWait.Worst = 990, reporttest.Second*6/10 }},
		{"busy and nothing sent", "endpoint/busy", func(s *record.Snapshot) { s.Counts = record.Counts{Busy: 1} }},
		{"busy, and nothing known of the worker", "", func(s *record.Snapshot) {
			s.Counts = record.Counts{Sent: 10, Busy: 5, Opening: 5, NoRoom: 5}
			s.Self = record.Self{Wall: reporttest.Second, Cores: 2, Pause: record.NewLoad(0, reporttest.Second)}
		}},
		{"busy, and only the process known", "endpoint/busy", func(s *record.Snapshot) {
			s.Counts.Busy, s.Self = 10, record.Self{Wall: reporttest.Second, Cores: 2, CPU: part(0.5, 2*reporttest.Second)}
		}},
		{"busy after a stall", "generator/late", func(s *record.Snapshot) { s.Counts.SeenLate, s.Counts.Busy, s.Counts.NoRoom = 500, 500, 509 }},
		{"busy, and a stall", "generator/late endpoint/busy", func(s *record.Snapshot) { s.Counts.SeenLate, s.Counts.Busy = 50, 500 }},
		{"opening", "endpoint/opening", func(s *record.Snapshot) { s.Counts.Opening = 15 }},
		{"seldom opening", "", func(s *record.Snapshot) { s.Counts.Opening, s.Counts.Busy, s.Counts.NoRoom = 14, 14, 14 }},
		{"datagrams dropped", "generator/dropped", func(s *record.Snapshot) { s.Self.Dropped = 15 }},
		{"too many in flight", "generator/max_in_flight", func(s *record.Snapshot) { s.Counts.NoRoom = 15 }},
		{"too many in flight by its own fault", "generator/shard_cpu", func(s *record.Snapshot) {
			s.Counts.NoRoom, s.Counts.Opening, s.Self.Shard.Worst = 500, 500, reporttest.Second*95/100
		}},
		{"busy while the hypervisor takes", "machine/steal endpoint/busy", func(s *record.Snapshot) { s.Counts.Busy, s.Self.Steal = 500, part(0.06, 2*reporttest.Second) }},
		{"busy for as long as the hypervisor takes", "machine/steal", func(s *record.Snapshot) { s.Counts.Busy, s.Self.Steal = 134, part(0.06, 2*reporttest.Second) }},
		{"too many in flight while the hypervisor takes", "machine/steal generator/max_in_flight", func(s *record.Snapshot) { s.Counts.NoRoom, s.Self.Steal = 135, part(0.06, 2*reporttest.Second) }},
		{"busy, and with what the hypervisor takes no time to spare", "", func(s *record.Snapshot) {
			s.Counts.Busy, s.Self.Shard.Worst, s.Self.Steal = 500, reporttest.Second*86/100, part(0.04, 2*reporttest.Second)
		}},
		{"none connects", "endpoint/connect", func(s *record.Snapshot) {
			s.Counts.Completed, s.Counts.Failed, s.Self.CPU = 0, 1000, part(1, 2*reporttest.Second)
			s.Class("connect").Count = 1000
		}},
		{"busy by its own fault", "generator/wait", func(s *record.Snapshot) {
			s.Counts.Busy, s.Self.Shard.Worst, s.Self.ShardWait.Worst = 500, reporttest.Second/2, reporttest.Second/2
		}},
		{"busy without threads", "endpoint/busy", func(s *record.Snapshot) { adapter(s); s.Counts.Busy = 500 }},
		{"busy by its own fault without threads", "generator/cpu", func(s *record.Snapshot) {
			adapter(s)
			s.Counts.Busy, s.Self.CPU = 500, part(0.95, 2*reporttest.Second)
		}},
		{"descriptors", "generator/descriptors", func(s *record.Snapshot) { s.Class("descriptors").Count = 1 }},
		{"ports", "generator/ports", func(s *record.Snapshot) { s.Class("ports").Count = 1 }},
		{"refused", "endpoint/connect", func(s *record.Snapshot) { s.Class("connect").Count = 10 }},
		{"seldom refused", "", func(s *record.Snapshot) { s.Class("connect").Count = 9 }},
		{"both", "generator/cpu endpoint/connect", func(s *record.Snapshot) {
			s.Self.CPU = part(1, 2*reporttest.Second)
			s.Class("connect").Count = 1000
		}},
	}
}

// causes returns a snapshot's verdicts in short.
func causes(s *record.Snapshot) string {
	var all []string
	for _, v := range record.Verdicts(s, false) {
		all = append(all, v.Limit+"/"+v.Cause)
	}
	return strings.Join(all, " ")
}

// TestVerdictText: the texts contain the figures.
func TestVerdictText(t *testing.T) {
	s := record.NewSnapshot("w", "1")
	for i := range 10 {
		b := reporttest.Beat()
		b.Self.Cores = 1
		if i < 2 {
			b.Self.CPU, b.Self.ShardWait = record.NewLoad(reporttest.Second*97/100, reporttest.Second), record.NewLoad(reporttest.Second*18/100, reporttest.Second)
		}
		if i == 9 {
			b.Counts.Busy = 500
		}
		b.JudgeBeat()
		s.Merge(b)
	}
	var text bytes.Buffer
	if err := render.Text(&text, report.Build(report.Input{Workers: []report.WorkerInput{{ID: "w1", Total: s}, {ID: "w2", Total: reporttest.Beat()}, {ID: "w3"}}})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"limit       w1, generator: CPU 97 % of its core in the worst second, 33 % on average, above the limit in 2 of 10 s; add workers or cores, or --pace-resolution economical\n",
		"limit       w1, generator: it waited for a core 180 ms in the worst second, 24 ms/s on average, above the limit in 2 of 10 s; ",
		"limit       w1, endpoint: in 1 of 10 s, at least 1 % of requests found all connections busy, while the worker had time to spare (5.00 % in all): ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if n := strings.Count(text.String(), "\nlimit "); n != 3 {
		t.Errorf("%d verdicts, want 3\n%s", n, text.String())
	}
}

// TestVerdictTextSaysWhat: unknown values are left out, and each limit has its own advice.
func TestVerdictTextSaysWhat(t *testing.T) {
	for _, c := range []struct {
		name, want, not string
		change          func(*record.Snapshot)
	}{
		{"its own threads may have had the cores", "it waited for a core 200 ms in the worst second", "other processes", func(s *record.Snapshot) {
			s.Self.CPU, s.Self.ShardWait = record.NewLoad(reporttest.Second*3/2, 2*reporttest.Second), record.NewLoad(reporttest.Second/5, reporttest.Second)
		}},
		{"its CPU is not known", "it waited for a core 200 ms in the worst second", "other processes", func(s *record.Snapshot) {
			s.Self.CPU, s.Self.ShardWait = record.Load{}, record.NewLoad(reporttest.Second/5, reporttest.Second)
		}},
		{"others had the cores", "half of its cores or less: other processes used them, or a CPU limit", "", func(s *record.Snapshot) {
			s.Self.ShardWait = record.NewLoad(reporttest.Second/5, reporttest.Second)
		}},
		{"how late", "in 1 of 1 s, at least 1 % of requests were > 15 ms late before they asked for a connection (5.00 % in all): ", "10 ms",
			func(s *record.Snapshot) { s.Counts.SeenLate, s.Self.Tardy = 50, 15_000_000 }},
		{"how late is not known", "at least 1 % of requests were late before they asked", "ms", func(s *record.Snapshot) { s.Counts.SeenLate = 50 }},
		{"connections", "raise --max-connections", "-c ", func(s *record.Snapshot) { s.Counts.Busy = 50 }},
		{"opening", "backlog, or open them ahead with --preconnect", "busy", func(s *record.Snapshot) { s.Counts.Opening = 50 }},
		{"in flight", "raise -c (--max-in-flight)", "connections", func(s *record.Snapshot) { s.Counts.NoRoom = 50 }},
	} {
		s := reporttest.Beat()
		c.change(s)
		s.JudgeBeat()
		all := record.Verdicts(s, false)
		if len(all) != 1 || !strings.Contains(all[0].Text, c.want) || c.not != "" && strings.Contains(all[0].Text, c.not) {
			t.Errorf("%s: %q, want %q and not %q", c.name, all, c.want, c.not)
		}
	}
}

// TestVerdictOfAStall: a stall of two seconds in ten minutes has a verdict.
func TestVerdictOfAStall(t *testing.T) {
	s := record.NewSnapshot("w", "1")
	for i := range 600 {
		b := reporttest.Beat()
		if i == 300 || i == 301 {
			b.Counts.SeenLate = 900
		}
		b.JudgeBeat()
		s.Merge(b)
	}
	all := record.Verdicts(s, false)
	if len(all) != 1 || all[0].Cause != "late" || !strings.Contains(all[0].Text, "(0.30 % in all)") || !strings.Contains(all[0].Text, "in 2 of 600 s, at least 1 %") {
		t.Errorf("%q", all)
	}
}

// TestManyVerdicts: the text has a line for each cause, with the number of workers and the figures of the worst.
func TestManyVerdicts(t *testing.T) {
	var in report.Input
	for i := range report.MaxListedWorkers + 3 {
		s := reporttest.Beat()
		s.Class("ports").Count = 7
		if i < 5 {
			s.Counts.SeenLate = int64(100 + 10*i)
			s.JudgeBeat()
		}
		in.Workers = append(in.Workers, report.WorkerInput{ID: fmt.Sprint("w", i), Total: s})
	}
	again := reporttest.Beat() // another process of the same worker
	again.Class("ports").Count = 7
	in.Workers = append(in.Workers, report.WorkerInput{ID: "w0", Incarnation: "2", Total: again})
	var text bytes.Buffer
	if err := render.Text(&text, report.Build(in)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nlimit       5 workers, generator; the worst, w4: in 1 of 1 s, at least 1 % of requests were late before they asked for a connection (14.00 % in all)",
		"\nlimit       23 workers, generator; the worst, w0: 7 requests found no local port free",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if n := strings.Count(text.String(), "limit "); n != 2 {
		t.Errorf("%d verdicts\n%s", n, text.String())
	}
}

// TestLimitWithinTheRun: a worker measures on while it waits for answers, but a limit never lasts longer than the run.
func TestLimitWithinTheRun(t *testing.T) {
	s := record.NewSnapshot("w", "1")
	for range 14 {
		b := reporttest.Beat()
		b.Self.CPU, b.Counts.SeenLate = record.NewLoad(reporttest.Second, reporttest.Second), 900
		b.JudgeBeat()
		s.Merge(b)
	}
	r := report.Build(report.Input{Duration: 10 * time.Second, Workers: []report.WorkerInput{{ID: "w", Total: s}}})
	if len(r.Workers[0].Verdicts) != 2 {
		t.Errorf("%+v", r.Workers[0].Verdicts)
	}
	for _, v := range r.Workers[0].Verdicts {
		if !strings.Contains(v.Text, "in 10 of 10 s") {
			t.Errorf("%s: %s", v.Cause, v.Text)
		}
	}
	if s.Self.Wall != 14*reporttest.Second || s.Self.CPU.Over != 14*reporttest.Second {
		t.Errorf("the snapshot was changed: %+v", s.Self)
	}
}
