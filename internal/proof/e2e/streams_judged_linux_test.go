package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/report"
)

// feed starts a target whose answers come in pieces, and returns its URL.
func (b *bed) feed(settings string) string {
	b.t.Helper()
	address := "127.0.0.1:" + strconv.Itoa(redistest.FreePort(b.t))
	b.operator("target", "--listen", address, "-o", "json", "--sse", settings).says("counting at ")
	return "http://" + address + "/"
}

// ownLimit reports whether a worker, or its machine, was the limit of a run: then some thresholds are undecided.
func ownLimit(r report.Report) bool {
	for _, w := range r.Workers {
		for _, v := range w.Verdicts {
			if v.Limit == "generator" || v.Limit == "machine" {
				return true
			}
		}
	}
	return false
}

// TestThresholdsOnStreams asserts the results and the exit codes of thresholds on answers in pieces, of the whole run and in windows.
// The third event of each answer is held back.
func TestThresholdsOnStreams(t *testing.T) {
	t.Parallel()
	b := &bed{t: t, redis: redistest.Start(t)}
	url := b.feed("first=50ms,events=5,gap=10ms,stall=3:300ms")
	qps, answers := scale("20", "200"), scale("60", "1000")
	runs := map[string]*process{}
	fails := map[string]bool{
		"first_event:p(99)<1h":              false,
		"ttft:p(50)<20ms":                   true,
		"first_event:p(99)<1h over 2s":      false,
		"first_event:min<20ms over 2s":      true,
		"first_event_service:min>40ms":      false,
		"event_gap:max<200ms":               true,
		"event_gap:max<200ms over 2s":       true,
		"itl:min<200ms over 2s":             false,
		"stream:min>300ms over 2s":          false,
		"stream:avg<300ms over 2s":          true,
		"events:count==" + answers + "x5":   false,
		"events:rate>100000/s over 2s":      true,
		"goodput:rate==1 over 2s":           true,
		"goodput:count==0":                  false,
		"event_gap:max<100ms over 1s abort": true,
	}
	for text := range fails {
		args := slices.Concat(steadfast(), []string{"--url", url, "--stream", "sse", "--goal", "event_gap:max<200ms", "--qps", qps, "-n", answers, "--threshold", judgedText(text)})
		runs[text] = b.worker("x"+strconv.Itoa(len(runs)), args...)
	}
	for text, p := range runs {
		await.Closed(t, "the end of "+text, p.Exited)
		if code := p.Cmd.ProcessState.ExitCode(); !slices.Contains([]int{0, 98, 99}, code) {
			t.Errorf("%s: exit code %d: %s", text, code, p.Stderr.String())
			continue
		}
		r := b.report(p.Cmd.Args[slices.Index(p.Cmd.Args, "--run")+1])
		want := map[bool]int{false: 0, true: 99}[fails[text]]
		if code := p.Cmd.ProcessState.ExitCode(); code != want && (code != 98 || !ownLimit(r)) {
			t.Errorf("%s: exit code %d, want %d: %+v", text, code, want, r.Thresholds)
		}
	}
}

// judgedText completes a threshold of the table above.
func judgedText(text string) string {
	if of, n, product := strings.Cut(text, "=="); product {
		if answers, five := strings.CutSuffix(n, "x5"); five {
			n, _ := strconv.Atoi(answers)
			return fmt.Sprintf("%s==%d", of, 5*n)
		}
	}
	return strings.Replace(text, "abort", "abort after 2", 1)
}

// TestCompareStreams asserts that a comparison tells servers apart that differ in the first event or in the gaps, says in which, and
// finds equal servers equal.
func TestCompareStreams(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := &bed{t: t, redis: redistest.Start(t)}
	dir := t.TempDir()
	runs := map[string]*process{}
	for name, settings := range map[string]string{
		"base": "first=100ms,events=11,gap=20ms", "same": "first=100ms,events=11,gap=20ms", "late": "first=150ms,events=11,gap=20ms", "slow": "first=100ms,events=11,gap=40ms",
	} {
		args := slices.Concat(steadfast(), []string{"--url", b.feed(settings), "--stream", "sse", "--goal", "first_event<130ms", "--qps", scale("20", "100"), "-n", scale("200", "3000"), "--out", filepath.Join(dir, name+".loadctl")})
		runs[name] = b.worker(name, args...)
	}
	for _, p := range runs {
		p.wait(0)
	}
	for other, differs := range map[string]map[string]float64{
		"same": {"first_event:p(50)": 0, "event_gap:p(50)": 0, "stream:p(50)": 0, "latency:p(50)": 0, "events:rate": 0, "rate": 0},
		"late": {"first_event:p(50)": 0.5, "event_gap:p(50)": 0, "stream:p(50)": 50. / 300, "events:rate": 0},
		"slow": {"first_event:p(50)": 0, "event_gap:p(50)": 1, "stream:p(50)": 200. / 300},
	} {
		var doc struct {
			Results []struct {
				Figures []struct {
					Figure     string
					Difference float64
					Interval   *struct{ Low, High float64 }
				}
			}
		}
		out := b.loadctl("compare", "--force", filepath.Join(dir, "base.loadctl"), filepath.Join(dir, other+".loadctl"), "-o", "json")
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, f := range doc.Results[0].Figures {
			by, known := differs[f.Figure]
			if !known {
				continue
			}
			found++
			t.Logf("%s: %s %+.3f %+v", other, f.Figure, f.Difference, f.Interval)
			if f.Interval == nil || by > 0 && f.Interval.Low <= 0 || f.Difference < by-scale(0.2, 0.02) || f.Difference > by+scale(0.2, 0.02) {
				t.Errorf("%s: %s differs by %+.3f, interval %+v, want %+.3f", other, f.Figure, f.Difference, f.Interval, by)
			}
			if acceptance() && by == 0 && (f.Interval.Low > 0 || f.Interval.High < 0) {
				t.Errorf("%s: %s is said to differ: %+v", other, f.Figure, f.Interval)
			}
		}
		if found != len(differs) {
			t.Errorf("%s: %d figures: %s", other, found, out)
		}
	}
	if _, stderr, code := b.try("compare", "--force", filepath.Join(dir, "base.loadctl"), filepath.Join(dir, "late.loadctl"), "--fail-on", "ttft:p(50)>+20%"); code != 99 || !strings.Contains(stderr, "ttft:p(50)>+20%: met") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestSearchStreams asserts that a search by the goodput finds how many streams a server can write, on a quiet machine within the
// precision of the search: 40 at a time, of half a second each, are 80 a second.
func TestSearchStreams(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := &bed{t: t, redis: redistest.Start(t)}
	url := b.feed("first=100ms,events=11,gap=40ms,at-once=40")
	worker := b.guest("x")
	search := b.operator("search", "x", "--url", url, "--stream", "sse", "--goal", "first_event<"+scale("400ms", "150ms"), "--slo", "goodput:rate>=95%", "--slo", "errors:rate<1%",
		"--from", "60", "--to", "200", "--step-for", scale("3s", "5s"), "--settle", "1s", "-o", "json")
	await.Closed(t, "the end of the search", search.Exited)
	code, f := search.Cmd.ProcessState.ExitCode(), search.outcome()
	// On a busy machine the search may find less, or nothing. It never finds more than the server can write: a rate that is higher by a
	// twentieth adds more to the wait than the goal allows.
	if f.End == "" || f.Rate > scale(100., 84.) || acceptance() && (code != 0 || f.End != "found" || f.Rate < 77 || f.Failed < 79) {
		t.Errorf("exit code %d, %+v: %s", code, f, search.Stderr.String())
	}
	worker.wait(0)
	r := b.report("x")
	if r.Goodput.Judged != r.Audit.Completed+r.Audit.Failed || r.Streams.EventsPerAnswer.Max != 11 || time.Duration(r.Streams.EventGap.P50) < 30*time.Millisecond {
		t.Errorf("goodput %+v, streams %+v", r.Goodput, r.Streams)
	}
}

// TestStreamsStopRuns asserts that a run ends when windows of answers in pieces or of goals fail, as its workers judge them together.
func TestStreamsStopRuns(t *testing.T) {
	t.Parallel()
	b := &bed{t: t, redis: redistest.Start(t)}
	url := b.feed("first=50ms,events=5,gap=10ms,stall=3:300ms")
	for name, text := range map[string]string{
		"gaps": "event_gap:max<200ms over 1s abort after 2", "first": "ttft:min<20ms over 1s abort after 2", "goals": "goodput:rate>50% over 2s abort after 1", "events": "events:rate>100000/s over 1s abort after 2",
	} {
		args := slices.Concat(steadfast(), []string{"--url", url, "--stream", "sse", "--goal", "event_gap:max<200ms", "--qps", "20", "--duration", "1h", "--min-workers", "2", "--threshold", text})
		one, other := b.worker(name, args...), b.worker(name, args...)
		one.wait(99)
		other.wait(99)
		if r := b.report(name); len(r.Thresholds) != 1 || r.Thresholds[0].Result != "failed" || r.DurationS > 3000 {
			t.Errorf("%s: after %.0f s: %+v", text, r.DurationS, r.Thresholds)
		}
	}
}
