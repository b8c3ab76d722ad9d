package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/certtest"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
)

// A streamed run is what became of answers in pieces: what the report says, and what the target wrote.
type streamed struct {
	t      *testing.T
	report report.Report
	target arrivals.Summary
	log    []streamedAnswer
}

// A streamedAnswer is a line of the target's log.
type streamedAnswer struct {
	Path    string  `json:"path"`
	Arrival int64   `json:"arrival_ns"`
	Events  []int64 `json:"events_ns"`
	Whole   bool    `json:"whole"`
}

// stream runs two workers against a target whose answers come in pieces. Meanwhile others, at the address of the target, may
// read it too.
func stream(t *testing.T, path string, target, args []string, others ...func(address string)) streamed {
	t.Helper()
	b := &bed{t: t, redis: redistest.Start(t)}
	address, file := "127.0.0.1:"+strconv.Itoa(redistest.FreePort(t)), filepath.Join(t.TempDir(), "events.jsonl")
	server := b.operator(slices.Concat([]string{"target", "--listen", address, "-o", "json", "--event-log", file}, target)...)
	server.says("counting at ")
	scheme := "http://"
	if slices.Contains(target, "--tls-cert") {
		scheme = "https://"
	}
	ended := b.pairOf("x", append([]string{"--url", scheme + address + path}, args...)...)
	for _, read := range others {
		read(address)
	}
	ended()
	s := streamed{t: t, report: b.report("x")}
	server.signal(syscall.SIGTERM)
	server.wait(0)
	if err := json.Unmarshal([]byte(server.Stdout.String()), &s.target); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var a streamedAnswer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		s.log = append(s.log, a)
	}
	return s
}

// pairOf starts two workers that begin together. ended waits until both have ended well, and no threshold has failed: 98 says
// that a busy machine may have decided one.
func (b *bed) pairOf(run string, args ...string) (ended func()) {
	b.t.Helper()
	args = slices.Concat(steadfast(), []string{"--min-workers", "2"}, args)
	pair := []*process{b.worker(run, args...), b.worker(run, args...)}
	return func() {
		b.t.Helper()
		for _, p := range pair {
			await.Closed(b.t, "the end of a worker", p.Exited)
			if code := p.Cmd.ProcessState.ExitCode(); code != 0 && code != 98 {
				b.t.Fatalf("exit code %d\n%s", code, p.Stderr.String())
			}
		}
	}
}

// counts checks that report and target agree on how many answers and events there were.
func (s streamed) counts(answers, events int64) {
	s.t.Helper()
	r := s.report.Streams
	if r.Answers != answers || r.Events != answers*events || int64(len(s.log)) != answers || r.EventsPerAnswer.Min != events || r.EventsPerAnswer.Max != events {
		s.t.Errorf("%d answers with %d events, the target wrote %d answers: %+v", r.Answers, r.Events, len(s.log), r)
	}
	for _, a := range s.log {
		if !a.Whole || int64(len(a.Events)) != events {
			s.t.Errorf("the target wrote %+v", a)
		}
	}
}

// agrees checks that times of the report are those of the target's log: never shorter, and in the acceptance run within a
// millisecond. A time of the report stands for all times of its bucket.
func (s streamed) agrees() {
	s.t.Helper()
	var first, gap, whole []int64
	for _, a := range s.log {
		first = append(first, a.Events[0]-a.Arrival)
		for i := 1; i < len(a.Events); i++ {
			gap = append(gap, a.Events[i]-a.Events[i-1])
		}
		whole = append(whole, a.Events[len(a.Events)-1]-a.Arrival)
	}
	r := s.report.Streams
	for _, c := range []struct {
		name   string
		report record.Distribution
		log    []int64
		causal bool // the report's cannot be shorter
	}{
		{"first event − sent", r.FirstEventService, first, true}, {"first event", r.FirstEvent, first, true},
		{"event gap", r.EventGap, gap, false}, {"stream", r.Stream, whole, true},
	} {
		for _, q := range []struct {
			report  int64
			percent int
		}{{c.report.P50, 50}, {c.report.P99, 99}} {
			log := quantile(c.log, q.percent)
			off := beside(q.report, log)
			s.t.Logf("%s: p%d %v in the report, %v at the target: %v off", c.name, q.percent, time.Duration(q.report), time.Duration(log), off)
			if c.causal && off < -time.Duration(log/500+1000) || acceptance() && off.Abs() > time.Millisecond {
				s.t.Errorf("%s: p%d %v in the report, %v at the target: %v off", c.name, q.percent, time.Duration(q.report), time.Duration(log), off)
			}
		}
	}
}

// quantile returns that of some times, the one that a histogram of them has in its bucket.
func quantile(times []int64, percent int) int64 {
	slices.Sort(times)
	return times[max(1, (len(times)*percent+50)/100)-1]
}

// beside returns how far the bucket of a report's time, which ends with that time, lies from a time: 0, if it is in it.
func beside(report, exact int64) time.Duration {
	width := int64(1) << max(0, bits.Len64(uint64(report))-11) // three digits are 2,048 buckets, half of them for each power of two
	return time.Duration(max(0, report-width+1-exact) + min(0, report-exact))
}

// TestStreams asserts that two workers report the events of answers in pieces as their target wrote them. Over HTTP/2 and 3 a
// connection has many of them, as users would have it; else most first events of a short run wait for a handshake.
func TestStreams(t *testing.T) {
	besides(t)
	cert, key := certtest.New(t).Issue("127.0.0.1")
	qps, answers := scale("20", "500"), scale(int64(40), int64(3000)) // the latter are 500 answers at a time
	paced := "first=50ms,events=20,gap=" + scale("20ms±5ms", "50ms±5ms")
	for name, c := range map[string]struct{ target, args []string }{
		"server-sent events": {[]string{"--sse", paced}, []string{"--stream", "sse"}},
		"HTTP/2":             {[]string{"--sse", paced}, []string{"--stream", "sse", "--http", "2", "--streams", "100"}},
		"lines":              {[]string{"--sse", paced + ",form=lines"}, []string{"--stream", "lines"}},
		"HTTP/3":             {[]string{"--sse", paced, "--tls-cert", cert, "--tls-key", key, "--http3"}, []string{"--stream", "sse", "--http", "3", "-k", "--streams", "100"}},
		"chunks":             {[]string{"--sse", paced + ",form=chunks"}, []string{"--stream", "chunks"}},
	} {
		t.Run(name, func(t *testing.T) {
			besides(t)
			s := stream(t, "/", c.target, append(c.args, "--preconnect", "8", "--qps", qps, "-n", fmt.Sprint(answers), "--goal", "first_event_service<1h", "--goal", "event_gap:max<1h"))
			s.counts(answers, 20)
			s.agrees()
			if g := s.report.Goodput; g.Judged != answers || g.Good != answers {
				t.Errorf("goodput %+v", g)
			}
		})
	}
}

// TestLanguageModel asserts that the tokens of a language model are counted as it says, and that answers that miss a goal are
// not goodput.
func TestLanguageModel(t *testing.T) {
	besides(t)
	const body = `{"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 10, "stream": true, "stream_options": {"include_usage": true}}`
	answers := scale(int64(30), int64(1000))
	s := stream(t, "/v1/chat/completions", []string{"--openai", "first=30ms,tokens=50,gap=5ms"},
		[]string{"--preset", "openai", "-d", body, "--qps", scale("20", "200"), "-n", fmt.Sprint(answers), "--goal", "ttft<1h", "--goal", "itl:p(50)<1ns", "--threshold", "goodput:count==0", "--threshold", "tpot:p(50)>=4ms"})
	s.counts(answers, 10)
	s.agrees()
	if k := s.report.Streams.Tokens; k.Out != 10*answers || k.Usages != answers || k.In == 0 || k.PerToken.P50 < int64(4*time.Millisecond) {
		t.Errorf("tokens %+v", k)
	}
	if g := s.report.Goodput; g.Judged != answers || g.Good != 0 {
		t.Errorf("goodput %+v", g)
	}
	if s.target.Total != answers {
		t.Errorf("the target counted %d requests", s.target.Total)
	}
}

// TestEndlessStreams asserts that answers that never end are counted when the run has ended: as canceled, with what came of them.
func TestEndlessStreams(t *testing.T) {
	besides(t)
	const answers = 6
	b := &bed{t: t, redis: redistest.Start(t)}
	address := "127.0.0.1:" + strconv.Itoa(redistest.FreePort(t))
	server := b.operator("target", "--listen", address, "-o", "json", "--sse", "events=1000000,gap=50ms")
	server.says("counting at ")
	w := b.worker("x", append(steadfast(), "--url", "http://"+address+"/", "--stream", "sse", "--qps", "20", "-n", strconv.Itoa(answers), "--timeout", "3s")...)
	w.wait(1)
	out, _, code := b.try("report", "x", "-o", "json")
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 1 {
		t.Fatalf("exit code %d, %v", code, err)
	}
	if !r.Complete || r.Audit.Sent != answers || r.Audit.Failed != answers || r.Audit.InFlight != 0 || r.Errors[targets.ClassCanceled] != answers || r.Streams.Events < answers {
		t.Errorf("audit %+v, errors %v, streams %+v", r.Audit, r.Errors, r.Streams)
	}
}

// TestStreamStalls asserts that a silence of the server in the middle of its answers is a gap between events.
func TestStreamStalls(t *testing.T) {
	besides(t)
	qps, answers := scale("20", "200"), scale(int64(20), int64(1000))
	s := stream(t, "/", []string{"--sse", "first=10ms,events=5,gap=5ms,stall=3:2s"}, []string{"--stream", "sse", "--qps", qps, "-n", fmt.Sprint(answers)})
	s.counts(answers, 5)
	s.agrees()
	if gap := time.Duration(s.report.Streams.EventGap.Max); gap < time.Second {
		t.Errorf("the longest gap is %v", gap)
	}
}
