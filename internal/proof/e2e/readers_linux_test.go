package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A reading is what a reader of others found in one answer.
type reading struct {
	Events []int64 // when each event came, in ns since the request was sent
	Order  []int   // the number that each has
}

// number finds the number of an event: {"event":7}, or the text "t7 " of a token.
var number = regexp.MustCompile(`"event":(\d+)|"t(\d+) "`)

// readerOfNode reads answers with a parser of server-sent events that others wrote. For a line with a request it prints one
// with its readings.
const readerOfNode = `
const http = require("http"), { createParser } = require("eventsource-parser");
const number = /"event":(\d+)|"t(\d+) "/;
function read({ url, body }) {
  return new Promise((resolve, reject) => {
    const seen = { Events: [], Order: [] };
    const sent = performance.now();
    let at;
    const parser = createParser({ onEvent: ({ event, data }) => {
      const found = number.exec(data);
      if (!found || /\.done$|\.completed$/.test(event || "")) return; // that has the whole text again
      seen.Events.push(Math.round(1e6 * (at - sent)));
      seen.Order.push(Number(found[1] || found[2]));
    } });
    const headers = body ? { "Content-Type": "application/json" } : {};
    const request = http.request(url, { method: body ? "POST" : "GET", headers }, (response) => {
      response.setEncoding("utf8");
      response.on("data", (text) => { at = performance.now(); parser.feed(text); });
      response.on("end", () => resolve(seen));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}
process.stdin.on("data", async (line) => {
  const ask = JSON.parse(line), all = [];
  for (let i = 0; i < ask.n; i++) {
    all.push(read(ask));
    await new Promise((resume) => setTimeout(resume, ask.every));
  }
  console.log(JSON.stringify(await Promise.all(all)));
});
console.log("ready");
`

// readAsGo reads an answer with net/http, line by line.
func readAsGo(url, body string) (seen reading, err error) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return seen, err
	}
	request.Header.Set("Content-Type", "application/json")
	sent := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return seen, err
	}
	defer response.Body.Close()
	lines, event := bufio.NewScanner(response.Body), ""
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		found := number.FindStringSubmatch(data)
		if !ok || found == nil || strings.HasSuffix(event, ".done") || strings.HasSuffix(event, ".completed") {
			continue
		}
		n, err := strconv.Atoi(found[1] + found[2])
		if err != nil {
			return seen, err
		}
		seen.Events = append(seen.Events, int64(time.Since(sent)))
		seen.Order = append(seen.Order, n)
	}
	return seen, lines.Err()
}

// A readers' trial is a server that loadworker, Node and Go read side by side.
type readers struct {
	path, body string
	n, events  int
	every      time.Duration
}

// reads lets Node and Go read the server at an address.
func (r readers) reads(t *testing.T, node *nodeProcess, address string) (byNode, byGo []reading) {
	t.Helper()
	ask, err := json.Marshal(map[string]any{"url": "http://" + address + r.path + "?by=node", "body": r.body, "n": r.n, "every": r.every.Milliseconds()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(node.ask, "%s\n", ask); err != nil {
		t.Fatal(err)
	}
	byGo = make([]reading, r.n)
	var all sync.WaitGroup
	for i := range r.n {
		all.Go(func() {
			var err error
			if byGo[i], err = readAsGo("http://"+address+r.path+"?by=go", r.body); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(r.every) // the pace of the requests: nothing is waited for
	}
	all.Wait()
	if err := json.Unmarshal([]byte(node.line(t)), &byNode); err != nil {
		t.Fatal(err)
	}
	return byNode, byGo
}

// TestReadersAgree asserts that a parser of Node, one of Go and loadworker find the same events in answers of one server, and
// say the same of their times.
func TestReadersAgree(t *testing.T) {
	nightly(t)
	besides(t)
	const events = 20
	paced := "first=50ms,gap=20ms,stall=7:100ms,"
	node := startNode(t, readerOfNode, "eventsource-parser@3")
	node.line(t)
	for name, c := range map[string]struct {
		path, body   string
		target, args []string
	}{
		"events":      {"/", "", []string{"--sse", paced + "events=20"}, []string{"--stream", "sse"}},
		"chat":        {"/v1/chat/completions", `{"model": "m", "stream": true, "stream_options": {"include_usage": true}, "messages": [{"role": "user", "content": "hi"}]}`, []string{"--openai", paced + "tokens=20"}, []string{"--preset", "openai"}},
		"completions": {"/v1/completions", `{"model": "m", "stream": true, "prompt": "hi"}`, []string{"--openai", paced + "tokens=20"}, []string{"--preset", "openai"}},
		"responses":   {"/v1/responses", `{"model": "m", "stream": true, "input": "hi"}`, []string{"--openai", paced + "tokens=20"}, []string{"--preset", "openai"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := readers{c.path, c.body, scale(40, 1000), events, scale(25*time.Millisecond, 20*time.Millisecond)}
			args := append(c.args, "--qps", scale("40", "50"), "-n", fmt.Sprint(r.n))
			if r.body != "" {
				args = append(args, "-d", r.body)
			}
			var byNode, byGo []reading
			s := stream(t, c.path, c.target, args, func(address string) { byNode, byGo = r.reads(t, node, address) })
			whole := s.log
			s.by(whole, c.path)
			s.counts(int64(r.n), events)
			s.agrees()
			for who, found := range map[string][]reading{"node": byNode, "go": byGo} {
				s.by(whole, c.path+"?by="+who)
				s.beside(who, found, r)
			}
		})
	}
}

// by keeps of the log the answers to requests for a path.
func (s *streamed) by(log []streamedAnswer, path string) {
	s.log = nil
	for _, a := range log {
		if a.Path == path {
			s.log = append(s.log, a)
		}
	}
}

// beside checks that the readings of someone else agree with what the target wrote of their answers, and with the report of
// loadworker, which had other answers at the same time.
func (s streamed) beside(who string, found []reading, r readers) {
	s.t.Helper()
	if len(found) != r.n || len(s.log) != r.n {
		s.t.Errorf("%s read %d answers, the target wrote %d, want %d", who, len(found), len(s.log), r.n)
	}
	var first, gaps, stream []int64
	for _, a := range found {
		for i, n := range a.Order {
			if n != i+1 {
				s.t.Fatalf("%s read %v", who, a.Order)
			}
		}
		if len(a.Order) != r.events {
			s.t.Fatalf("%s read %d events", who, len(a.Order))
		}
		first, stream = append(first, a.Events[0]), append(stream, a.Events[len(a.Events)-1])
		for i := 1; i < len(a.Events); i++ {
			gaps = append(gaps, a.Events[i]-a.Events[i-1])
		}
	}
	report := s.report.Streams
	if int64(len(gaps)) != report.Events-report.Answers {
		s.t.Errorf("%s found %d gaps, the report has %d", who, len(gaps), report.Events-report.Answers)
	}
	alike(s.t, "first event, beside "+who, report.FirstEventService, first, false)
	alike(s.t, "event gap, beside "+who, report.EventGap, gaps, false)
	alike(s.t, "stream, beside "+who, report.Stream, stream, false)
}
