package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/report"
)

// modelsOfNode is a server with the API of OpenAI that others wrote. Its answers are at a pace of its own: the first event
// has a role and no text, and each token comes 10 ms after the event before, all ±30 %.
const modelsOfNode = `
const { LLMock } = require("@copilotkit/aimock");
const server = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 4, logLevel: "silent" });
const pace = { streamingProfile: { ttft: 60, tps: 100, jitter: 0.3 } };
const usage = { prompt_tokens: 17, completion_tokens: 13 };
const content = "An answer of some words, cut into pieces.", reasoning = "Let me think of words.";
server.on({ userMessage: "plain" }, { content }, pace);
server.on({ userMessage: "told" }, { content, usage }, pace);
server.on({ userMessage: "think" }, { content, reasoning, usage }, pace);
server.on({ userMessage: "tool" }, { toolCalls: [{ name: "weather", arguments: '{"city": "Bonn", "days": 3}' }], usage }, pace);
server.on({ userMessage: "cut" }, { content }, { ...pace, truncateAfterChunks: 8 });
server.start().then(() => console.log(new URL(server.url).port));
`

// The pace of modelsOfNode. A timer of Node may fire a millisecond early.
const (
	modelFirst = 60 * time.Millisecond * 7 / 10
	modelGap   = 10 * time.Millisecond * 7 / 10
	timerOfJS  = time.Millisecond
)

// TestModelsOfOthers asserts that tokens and their times, as loadworker reports them of a server of others, are those of a
// recording that nothing of ours has read.
func TestModelsOfOthers(t *testing.T) {
	nightly(t)
	besides(t)
	server := startNode(t, modelsOfNode, "@copilotkit/aimock@1.43")
	address := "127.0.0.1:" + server.line(t)
	b := &bed{t: t, redis: redistest.Start(t)}
	n := scale(int64(30), int64(1000))
	for _, c := range []struct{ api, asks, class string }{
		{"chat", "plain", ""}, {"chat", "told", ""}, {"chat", "think", ""}, {"chat", "tool", ""}, {"chat", "cut", "truncated"},
		{"responses", "told", ""}, {"responses", "think", ""}, {"responses", "tool", ""}, {"responses", "cut", "truncated"},
	} {
		name := c.api + "-" + c.asks
		path, body := "/v1/chat/completions", `{"model": "m", "stream": true, "stream_options": {"include_usage": true}, "messages": [{"role": "user", "content": %q}]}`
		if c.api == "responses" {
			path, body = "/v1/responses", `{"model": "m", "stream": true, "input": %q}`
		}
		passing := newTap(t, address)
		b.worker(name, append(steadfast(), "--url", "http://"+passing.address+path, "--preset", "openai", "-d", fmt.Sprintf(body, c.asks),
			"--qps", scale("30", "100"), "-n", fmt.Sprint(n), "--goal", "first_event_service<70ms")...).wait(map[bool]int{true: 1}[c.class != ""])
		m := modelRun{t, name, b.audited(name), passing.answers(t)}
		m.counted(n, c.class)
		if c.class == "" {
			m.timed()
		}
	}
}

// A modelRun is what a report and a recording say of the same answers.
type modelRun struct {
	t      *testing.T
	name   string
	report report.Report
	tapped []tappedAnswer
}

// counted checks how many answers, events and tokens there were.
func (m modelRun) counted(n int64, class string) {
	m.t.Helper()
	var events, in, out int64
	var perAnswer []int64
	for _, a := range m.tapped {
		if a.whole != (class == "") || len(a.tokens) < 2 {
			m.t.Errorf("%s: an answer passed with %d tokens, whole %t", m.name, len(a.tokens), a.whole)
		}
		events += int64(len(a.tokens))
		perAnswer = append(perAnswer, int64(len(a.tokens)))
		in += a.in
		out += a.out
	}
	r := m.report.Streams
	if int64(len(m.tapped)) != n || r.Answers != n || r.Events != events {
		m.t.Errorf("%s: %d answers with %d events in the report, %d with %d passed", m.name, r.Answers, r.Events, len(m.tapped), events)
	}
	if class != "" {
		if m.report.Errors[class] != n {
			m.t.Errorf("%s: %v, want %d of class %s", m.name, m.report.Errors, n, class)
		}
		return
	}
	slices.Sort(perAnswer)
	if d := r.EventsPerAnswer; len(m.report.Errors) > 0 || d.Min != perAnswer[0] || d.Max != perAnswer[len(perAnswer)-1] || d.P50 != rank(perAnswer, 0.5) {
		m.t.Errorf("%s: events per answer %+v, want %v to %v; %v", m.name, d, perAnswer[0], perAnswer[len(perAnswer)-1], m.report.Errors)
	}
	if k := r.Tokens; k.In != in || k.Out != out || k.Usages != n || in == 0 || out == 0 {
		m.t.Errorf("%s: tokens %+v in the report, %d in and %d out passed", m.name, k, in, out)
	}
}

// timed checks when tokens came. What passes has not yet come: so the report's times from the request on are the longer ones.
func (m modelRun) timed() {
	m.t.Helper()
	var first, gaps, stream, perToken []int64
	for _, a := range m.tapped {
		last := a.tokens[len(a.tokens)-1]
		if waited := a.begun.Sub(a.asked); waited < modelFirst-timerOfJS {
			m.t.Errorf("%s: the first event passed after %v", m.name, waited)
		}
		first = append(first, int64(a.tokens[0].Sub(a.asked)))
		stream = append(stream, int64(last.Sub(a.asked)))
		perToken = append(perToken, int64(last.Sub(a.tokens[0]))/(a.out-1))
		for i := 1; i < len(a.tokens); i++ {
			gaps = append(gaps, int64(a.tokens[i].Sub(a.tokens[i-1])))
		}
	}
	r, says := m.report.Streams, func(what string) string { return m.name + ", " + what }
	alike(m.t, says("TTFT from sent"), r.FirstEventService, first, true)
	alike(m.t, says("TTFT"), r.FirstEvent, first, true)
	alike(m.t, says("ITL"), r.EventGap, gaps, false)
	alike(m.t, says("stream"), r.Stream, stream, true)
	alike(m.t, says("TPOT"), r.Tokens.PerToken, perToken, false)
	m.good(first)
	m.adds()
	if !acceptance() {
		return
	}
	most, late := 13*time.Millisecond, 2*time.Millisecond // late: timers, and the hops of the proxy
	if gap := time.Duration(r.EventGap.P50); gap < modelGap-late || gap > most+late {
		m.t.Errorf("%s: ITL p50 %v at a server with 10 ms ±30 %%", m.name, gap)
	}
}

// adds checks that times add up: from the first token to the last there are all gaps, and TPOT for each token but one. Answers
// to the same request have as many tokens.
func (m modelRun) adds() {
	m.t.Helper()
	r := m.report.Streams
	between := r.Stream.Mean - r.FirstEvent.Mean
	for what, sum := range map[string]int64{
		"gaps": r.EventGap.Mean * (r.Events - r.Answers) / r.Answers, "TPOT": r.Tokens.PerToken.Mean * (m.tapped[0].out - 1),
	} {
		if off := time.Duration(sum - between); off.Abs() > time.Duration(r.Stream.Mean/250) { // buckets of histograms
			m.t.Errorf("%s: %s add up to %v, from first to last token it is %v", m.name, what, time.Duration(sum), time.Duration(between))
		}
	}
}

// good checks the goodput: an answer that met its goal met it when its token passed.
func (m modelRun) good(first []int64) {
	m.t.Helper()
	const goal = 70 * time.Millisecond
	var most, surely int64
	for _, ns := range first {
		if d := time.Duration(ns); d < goal {
			most++
			if d < goal-time.Millisecond {
				surely++
			}
		}
	}
	g := m.report.Goodput
	if g.Judged != int64(len(first)) || g.Good > most || acceptance() && g.Good < surely {
		m.t.Errorf("%s: goodput %+v, want %d to %d of %d", m.name, g, surely, most, len(first))
	}
}
