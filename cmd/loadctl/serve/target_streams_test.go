package serve

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// A logged is a line of --event-log.
type logged struct {
	Path    string  `json:"path"`
	Arrival int64   `json:"arrival_ns"`
	Events  []int64 `json:"events_ns"`
	Whole   bool    `json:"whole"`
}

// readLog reads a log of events.
func readLog(t *testing.T, file string) (all []logged) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var l logged
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, l)
	}
	return all
}

// stream reads an answer of server-sent events, and returns when each came; an error if it has no end.
func (c *counter) stream(client *http.Client, method, path, body string, proto int) (seen []int64, err error) {
	c.Helper()
	r, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != proto || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		c.Errorf("%s %d %v", resp.Proto, resp.StatusCode, resp.Header)
	}
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "data: ") {
			seen = append(seen, time.Now().UnixNano())
		}
		if errors.Is(err, io.EOF) {
			return seen, nil
		}
		if err != nil {
			return seen, err
		}
	}
}

// TestTargetStreams asserts that clients of each version of HTTP see the events that the log has, none of them earlier
// than it was written or due.
func TestTargetStreams(t *testing.T) {
	const ms = int64(time.Millisecond)
	certificate, key, trusted := writePair(t)
	config := &tls.Config{RootCAs: trusted}
	one, two := &http.Transport{TLSClientConfig: config.Clone()}, &http.Transport{TLSClientConfig: config.Clone(), ForceAttemptHTTP2: true}
	three := &http3.Transport{TLSClientConfig: config, QUICConfig: &quic.Config{HandshakeIdleTimeout: time.Hour, MaxIdleTimeout: time.Hour}}
	defer one.CloseIdleConnections()
	defer two.CloseIdleConnections()
	defer three.Close()
	log := filepath.Join(t.TempDir(), "events")
	c := counting(t, "-o", "json", "--tls-cert", certificate, "--tls-key", key, "--http3", "--sse", "first=30ms,events=20,gap=4ms±2ms,stall=7:60ms", "--event-log", log)
	for i, transport := range []http.RoundTripper{one, two, three} {
		path, asked := "/"+string(rune('1'+i))+"?a=b", time.Now().UnixNano()
		seen, err := c.stream(&http.Client{Transport: transport}, "GET", path, "", i+1)
		if err != nil || len(seen) != 20 {
			t.Fatalf("%s: %d events, %v", path, len(seen), err)
		}
		all := readLog(t, log) // who has the end finds the line
		if len(all) != i+1 || all[i].Path != path || len(all[i].Events) != 20 || !all[i].Whole {
			t.Fatalf("%+v", all)
		}
		due := all[i].Arrival + 30*ms
		if all[i].Arrival < asked-ms { // the clocks of both may differ by their steps, which are small
			t.Errorf("%s: arrived %d ns before it was sent", path, asked-all[i].Arrival)
		}
		for n, at := range all[i].Events {
			if n == 6 {
				due += 60 * ms
			}
			if at < due || seen[n] < at-ms {
				t.Errorf("%s: event %d is due at %d, written at %d, seen at %d", path, n+1, due, at, seen[n])
			}
			due += 2 * ms
		}
		if !slices.IsSorted(all[i].Events) {
			t.Errorf("%s: %v", path, all[i].Events)
		}
	}
	s := decodeSummary(t, c.end()).Streams
	if s == nil || s.Answers != 3 || s.Cut != 0 || s.Events != 60 || s.FirstEvent.Min < 29*ms || s.EventGap.Max < 60*ms || s.Stream.P50 < 128*ms || s.Stream.P99 < s.Stream.P50 {
		t.Errorf("%+v", s)
	}
}

// TestTargetStreamsLeaveAtOnce asserts that a client has an event while the next one is held back, that a client that
// goes away ends its answer, and that the end of the server is no end of an answer. It speaks HTTP/1.1 and HTTP/2.
func TestTargetStreamsLeaveAtOnce(t *testing.T) {
	plain := new(http.Protocols)
	plain.SetUnencryptedHTTP2(true)
	for _, protocols := range []*http.Protocols{nil, plain} {
		log := filepath.Join(t.TempDir(), "events")
		c := counting(t, "--sse", "events=3,stall=2:1h", "--event-log", log)
		transport := &http.Transport{Protocols: protocols}
		begin := func() *http.Response {
			resp, err := (&http.Client{Transport: transport}).Get(c.url)
			if err != nil {
				t.Fatal(err)
			}
			first := make([]byte, len("data: {\"event\":1}\n\n"))
			if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "data: {\"event\":1}\n\n" {
				t.Fatalf("%q, %v", first, err)
			}
			return resp
		}
		begin().Body.Close()
		await.True(t, "the end of an answer without its client", func() bool { return len(readLog(t, log)) == 1 })
		second := begin()
		text := c.end()
		if _, err := io.ReadAll(second.Body); err == nil {
			t.Error("an answer that was cut has an end")
		}
		second.Body.Close()
		transport.CloseIdleConnections()
		all := readLog(t, log)
		if len(all) != 2 || all[0].Whole || all[1].Whole || len(all[0].Events) != 1 || len(all[1].Events) != 1 {
			t.Errorf("%+v", all)
		}
		for _, want := range []string{"streams      answers 0, cut 2, events 2\n", "\nSTREAMS      P50", "\nfirst_event  ", "\nevent_gap    -", "\nstream       -"} {
			if !strings.Contains(text, want) {
				t.Errorf("prints no %q:\n%s", want, text)
			}
		}
	}
}

// TestTargetOpenAI asserts that tokens alone are events, and that other requests get the stream of --sse, by its route.
func TestTargetOpenAI(t *testing.T) {
	log := filepath.Join(t.TempDir(), "events")
	c := counting(t, "-o", "json", "--openai", "first=20ms,tokens=5,gap=1ms", "--sse", "events=2", "--route", "/=latency=30ms", "--event-log", log)
	asking := client(t)
	chat := func(more string) string {
		return `{"model":"m","messages":[{"role":"user","content":"a b"}]` + more + `}`
	}
	for _, e := range []struct {
		path, body  string
		seen, count int
	}{
		{"/v1/chat/completions", chat(`,"stream":true`), 1 + 5 + 2, 5},
		{"/v1/chat/completions", chat(`,"stream":true,"stream_options":{"include_usage":true},"max_tokens":3`), 1 + 3 + 3, 3},
		{"/v1/completions", `{"prompt":"a","stream":true,"max_tokens":9}`, 5 + 2, 5},
		{"/v1/responses", `{"input":"a","stream":true}`, 4 + 5 + 4, 5},
		{"/v2", "", 2, 2},
	} {
		seen, err := c.stream(asking, "POST", e.path, e.body, 1)
		all := readLog(t, log)
		last := all[len(all)-1]
		if err != nil || len(seen) != e.seen || last.Path != e.path || len(last.Events) != e.count || last.Events[0]-last.Arrival < int64(20*time.Millisecond) {
			t.Errorf("%s: %d events, %v, %+v", e.path, len(seen), err, last)
		}
	}
	began := time.Now()
	if status, body := c.send(asking, "POST", "/v1/chat/completions", chat("")); status != 200 || !strings.Contains(body, `"content":"t1 t2 t3 t4 t5 "`) || time.Since(began) < 24*time.Millisecond {
		t.Errorf("%d %s after %v", status, body, time.Since(began))
	}
	if s := decodeSummary(t, c.end()).Streams; s == nil || s.Answers != 5 || s.Events != 20 || len(readLog(t, log)) != 5 {
		t.Errorf("%+v", s)
	}
}

// TestTargetStreamsRefused asserts the text of each error.
func TestTargetStreamsRefused(t *testing.T) {
	there := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--sse", "first=1s"}, `--sse: "first=1s": there is no number of events; write events=50`},
		{[]string{"--sse", "events=5,gap=1s±2s"}, `--sse: "events=5,gap=1s±2s": gap=1s±2s: give at most the gap itself after ±`},
		{[]string{"--openai", "events=5"}, `--openai: "events=5": there is no setting "events"; use first, tokens, gap, stall and at-once`},
		{[]string{"--event-log", "x"}, "--event-log: give --sse or --openai too, the streams that it lists"},
		{[]string{"--sse", "events=5", "--status", "201"}, "--status: streams of --sse have status 200; leave it out, or give --error-share for other answers"},
		{[]string{"--sse", "events=5", "--event-log", "/nowhere/x"}, "--event-log: open /nowhere/x: no such file or directory; give the name of a file in a folder that exists"},
		{[]string{"--sse", "events=5", "--event-log", there}, "--event-log: " + there + " is there already; give the name of a new file, or remove it"},
		{[]string{"--sse", "events=5", "--tcp"}, "an echo takes only --latency, --jitter and --stall; leave other settings of answers out"},
		{[]string{"--openai", "tokens=5", "--route", "POST /v1/responses=body=x", "--route", "POST /v1/responses=body=y"}, "is given twice; leave one out"},
	} {
		clitest.Refused(t, targetRoot(), append([]string{"target"}, c.args...), c.says)
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a refused command has made a file")
	}
}
