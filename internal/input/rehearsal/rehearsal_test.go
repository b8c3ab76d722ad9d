package rehearsal

import (
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/program"
	"github.com/loadctl/loadctl/targets/rows"
)

// TestOf: no more is shown than is sent, rates are those of flows, and a body that is no text does no harm.
func TestOf(t *testing.T) {
	table, err := rows.Read("users.csv", []byte("name\nAnn\nBo\n"))
	if err != nil {
		t.Fatal(err)
	}
	pause := time.Second
	s := spec.Spec{QPS: pacer.PerSecond(10), Requests: 2, Target: targets.Spec{
		Data: []rows.Source{{Name: "users", Columns: table.Columns(), Rows: 2, Pick: rows.Once, SHA256: table.SHA256()}},
		Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{
			{Name: "a", Method: "GET", URL: "http://a/${users.name}"},
			{Name: "b", Method: "POST", URL: "http://a/", After: &pause, Body: []byte("\xff\x1b[2J" + strings.Repeat("ä", 100))},
		}}},
	}}
	r, err := Of(s, true, targets.Tables{table.SHA256(): table}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Requests) != 4 || r.Requests[2].URL != "http://a/Bo" || *r.FlowsPerSecond != 10 || *r.RequestsPerSecond != 20 || r.StepsPerFlow != 2 {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rate      10 flows/s, 20 requests/s", "THE FIRST 4 REQUESTS", "f     b     1s after the answer  POST http://a/\n", "… (205 bytes)"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, text.String())
		}
	}
	if r.Pick != "cycle" || strings.Contains(text.String(), "pick ") {
		t.Errorf("flows come in a cycle, but it says\n%s", text.String())
	}
	if strings.Contains(text.String(), "\x1b") {
		t.Errorf("it steers a terminal: %q", text.String())
	}
	if strings.Contains(text.String(), "cookies") {
		t.Errorf("there are no cookies:\n%s", text.String())
	}
	s.Target.Cookies = true
	if r, err = Of(s, true, targets.Tables{table.SHA256(): table}, time.Now()); err != nil || !r.Cookies {
		t.Errorf("%+v, %v", r, err)
	}
	text.Reset()
	if err := r.Text(&text); err != nil || !strings.HasPrefix(text.String(), "rate      10 flows/s, 20 requests/s (cluster total)\ncookies   each flow keeps its own\n\nFLOW") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if r, err = Of(s, false, nil, time.Now()); err != nil || r.FlowsPerSecond != nil || r.RequestsPerSecond != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestStreamIsShown: what the events of a step are, and its goals.
func TestStreamIsShown(t *testing.T) {
	step := targets.Step{Name: "a", URL: "http://a/", Stream: events.Options{Kind: events.SSE, Goals: []string{"ttft<1s"}}, Takes: []targets.Take{{Name: "x", From: "json x"}}}
	r, err := Of(spec.Spec{QPS: pacer.PerSecond(10), Target: targets.Spec{Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{step}}}}}, true, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.Text(&text); err != nil || !strings.Contains(text.String(), "http://a/  events sse goal \"ttft<1s\"; takes x\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// TestPickIsShown: the text says that shares hold on average.
func TestPickIsShown(t *testing.T) {
	s := spec.Spec{QPS: pacer.PerSecond(10), Target: targets.Spec{Pick: targets.PickRandom, Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "a", URL: "http://a/"}}}}}}
	r, err := Of(s, true, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.Text(&text); err != nil || r.Pick != "random" || !strings.Contains(text.String(), "\npick      random: the shares hold on average\n\nFLOW") {
		t.Errorf("%v, %s\n%s", err, r.Pick, text.String())
	}
}

// TestRateOfIsShown: the text says that each request has a slot, and how many flows that is about.
func TestRateOfIsShown(t *testing.T) {
	steps := []targets.Step{{Name: "a", URL: "http://a/"}, {Name: "b", URL: "http://a/"}, {Name: "c", URL: "http://a/"}}
	s := spec.Spec{QPS: pacer.PerSecond(480), Target: targets.Spec{RateOf: targets.RateOfRequests, Flows: []targets.Flow{{Name: "f", Steps: steps}}}}
	r, err := Of(s, true, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.Text(&text); err != nil || !strings.HasPrefix(text.String(), "rate      480 requests/s, each with a slot, for about 160 flows/s (cluster total)\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if r.RateOf != "requests" || r.StepsPerFlow != 3 || *r.FlowsPerSecond != 160 || *r.RequestsPerSecond != 480 {
		t.Errorf("%+v", r)
	}
}

// TestOrderIsShown asserts that conditions and loops are shown as a tree, with what no flow reaches and how many requests there are.
func TestOrderIsShown(t *testing.T) {
	f := targets.Flow{Name: "f", Steps: []targets.Step{{Name: "a", URL: "http://a/"}, {Name: "b", URL: "http://a/"}, {Name: "c", URL: "http://a/"}},
		Body: []*program.Block{{}, {Repeat: 3, Then: []*program.Block{{If: "${status} == 200", Then: []*program.Block{{Step: 1}}, Else: []*program.Block{{Fail: "no"}}}}},
			{If: "1 > 2", Then: []*program.Block{{Step: 2}}}, {Set: []program.Set{{Name: "n", To: "1"}, {Name: "m", To: "2"}}}, {Pause: "exp 2s"}}, Least: 4, Most: 4}
	g := targets.Flow{Name: "g", Least: 1, Most: 1000, Steps: f.Steps[:2], Body: []*program.Block{{}, {While: `${status} == 200`, Then: []*program.Block{{Step: 1}}}}}
	r, err := Of(spec.Spec{QPS: pacer.PerSecond(10), Target: targets.Spec{Flows: []targets.Flow{f, g}}}, true, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rate      10 flows/s, 25 to 5020 requests/s (cluster total)\n", "f     50.00 %  1       5        20\n", "g     50.00 %  1       5        5 to 5000\n",
		"\nORDER OF f: at least 4, at most 4 requests\na\nrepeat 3\n  if ${status} == 200\n    b\n  else\n    fail no\nif 1 > 2\n  c  (never reached)\nn = 1, m = 2\npause exp 2s\n",
		"\nORDER OF g: at least 1, at most 1000 requests\na\nwhile ${status} == 200\n  b\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it does not show\n%s\nbut\n%s", want, text.String())
		}
	}
}

// TestScheduleIsShown: the rate over time, and nothing about what has its default.
func TestScheduleIsShown(t *testing.T) {
	flows := targets.Spec{Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "a", URL: "http://a/"}}}}}
	for want, s := range map[string]spec.Spec{
		"rate      10 flows/s, 10 requests/s (cluster total)\n\n":                                                    {QPS: pacer.PerSecond(10)},
		"rate      10 flows/s, 10 requests/s (cluster total)\nlength    1m30s\narrivals  poisson:7\n\n":              {QPS: pacer.PerSecond(10), Duration: 90 * time.Second, Arrivals: "poisson:7"},
		"rate      at most 300 flows/s, 300 requests/s (cluster total)\nstages    10s:300, 20s:0\nlength    30s\n\n": {Stages: []string{"10s:300", "20s:0"}},
		"rate      at most 6 flows/s, 6 requests/s (cluster total)\nprofile   sine:mean=5,amplitude=1,period=1s\n\n": {Profile: "sine:mean=5,amplitude=1,period=1s"},
		"rate      max, as fast as it goes; requests in each flow: 1\nlength    5s\n\n":                              {Max: true, Duration: 5 * time.Second},
	} {
		s.Target = flows
		r, err := Of(s, true, nil, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := r.Text(&text); err != nil || !strings.HasPrefix(text.String(), want+"FLOW") {
			t.Errorf("%v\n%s\nwant\n%s", err, text.String(), want)
		}
	}
}
