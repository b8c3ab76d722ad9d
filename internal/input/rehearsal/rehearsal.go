// Package rehearsal says what a run with flows would send, without sending it.
//
//	r, err := rehearsal.Of(spec, true, tables, time.Now())
//	if err != nil { … }
//	return r.Text(os.Stdout)
//
// It shows placeholders filled from data files, and no secrets of URLs, headers and data files. Bodies are shown: what is
// in them the user has just written.
package rehearsal

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/program"
	"github.com/loadctl/loadctl/targets/wire"
)

// How much is shown.
const (
	mostRequests = 5
	mostBody     = 200 // bytes of each
)

// A Rehearsal is what a run would send. Rates are those of the whole cluster, per second, at the highest rate of the
// run.
type Rehearsal struct {
	Flows             []Flow    `json:"flows"`
	Pick              string    `json:"pick"`                           // in which order flows come, one of targets.Picks
	RateOf            string    `json:"rate_of"`                        // what has a slot, one of targets.RatesOf
	StepsPerFlow      float64   `json:"steps_per_flow"`                 // the mean; with conditions or loops, at most
	LeastPerFlow      float64   `json:"least_steps_per_flow,omitempty"` // the mean, at least; 0 = it is StepsPerFlow
	FlowsPerSecond    *float64  `json:"flows_per_second,omitempty"`     // nil = none is known
	RequestsPerSecond *float64  `json:"requests_per_second,omitempty"`  // nil = none is known
	Stages            []string  `json:"stages,omitempty"`
	Profile           string    `json:"profile,omitempty"`     // "" = none
	Concurrency       []int64   `json:"concurrency,omitempty"` // requests in flight, one number after the other; nil = none is known
	Length            float64   `json:"length_s,omitempty"`    // of the run, 0 = until stopped
	Arrivals          string    `json:"arrivals"`              // as --arrivals takes it
	Cookies           bool      `json:"cookies"`               // each flow keeps those of its answers
	Data              []Data    `json:"data"`
	Thresholds        []string  `json:"thresholds"`
	Requests          []Request `json:"requests"` // the first ones

	closed bool // the run is a closed loop
}

// A Flow is one flow of the mix.
type Flow struct {
	Name   string  `json:"name"`
	Weight int64   `json:"weight"`
	Share  float64 `json:"share"` // of all flows, 0 to 1
	Steps  []Step  `json:"steps"`
	Least  int64   `json:"least_steps"`     // requests of a flow, if none fails
	Most   int64   `json:"most_steps"`      // the same
	Order  []Line  `json:"order,omitempty"` // in which it sends its steps; none = one after the other
}

// A Line is an entry of a flow.
type Line struct {
	Depth int    `json:"depth"` // 0 = it is in no other one
	Text  string `json:"text"`
	Never bool   `json:"never_reached,omitempty"` // because of constant conditions, or behind fail
}

// A Step is one request of a flow.
type Step struct {
	Name   string   `json:"name"`
	Method string   `json:"method"`
	URL    string   `json:"url"`                // with its placeholders
	At     *int64   `json:"at_ns,omitempty"`    // when it is due, after the begin of the flow; nil = after an answer
	After  *int64   `json:"after_ns,omitempty"` // how long after the end of the answer before it; with Pause, the mean
	Pause  string   `json:"pause,omitempty"`    // how it is drawn, such as "exp 2s"
	Takes  []string `json:"takes,omitempty"`    // names
	Stream string   `json:"stream,omitempty"`   // what its events are, and its goals
}

// Data is one data file.
type Data struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	Pick   string `json:"pick"`
	SHA256 string `json:"sha256"`
}

// A Request is one request with its placeholders filled.
type Request struct {
	Slot    uint64           `json:"slot"`
	Flow    string           `json:"flow"`
	Step    string           `json:"step"`
	Method  string           `json:"method"`
	URL     string           `json:"url"`
	Headers []targets.Header `json:"headers"`
	Body    string           `json:"body"`       // the beginning of it
	Bytes   int64            `json:"body_bytes"` // of the whole body
}

// Of returns what a run with this valid spec, which has flows, would send. now fills ${now}. Without rated the rate of
// the spec means nothing.
func Of(s spec.Spec, rated bool, tables targets.Tables, now time.Time) (Rehearsal, error) {
	whole := s.Target
	whole.RateOf = "" // a slot is a flow with all of its steps
	r := Rehearsal{Flows: flows(s.Target), Pick: cmp.Or(s.Target.Pick, targets.PickCycle), RateOf: targets.RateOfFlows, StepsPerFlow: whole.StepsPerFlow(),
		Stages: s.Stages, Profile: pacer.BriefProfile(s.Profile), Length: s.Length().Seconds(), Arrivals: cmp.Or(s.Arrivals, pacer.EvenArrivals),
		Cookies: s.Target.Cookies, Data: []Data{}, Thresholds: append([]string{}, s.Thresholds...), Requests: []Request{}, Concurrency: s.Concurrencies(), closed: s.Max}
	if least, most := s.Target.Bounds(); least != most {
		r.LeastPerFlow = least
	}
	if rated && !s.Max {
		requests := s.Peak() * s.Target.StepsPerFlow()
		flows := requests / r.StepsPerFlow
		r.FlowsPerSecond, r.RequestsPerSecond = &flows, &requests
	}
	if s.Target.SlotEach() {
		r.RateOf = targets.RateOfRequests
	}
	for _, d := range s.Target.Data {
		r.Data = append(r.Data, Data{d.Name, d.Rows, d.Pick, d.SHA256})
	}
	examples, err := wire.Examples(s.Target, mostRequests, tables, now)
	for _, e := range examples {
		if s.Requests > 0 && e.Number >= uint64(s.Requests) {
			break // the rows of a data file are used up
		}
		body := strings.ToValidUTF8(string(e.Body[:min(mostBody, len(e.Body))]), "\uFFFD")
		headers := append([]targets.Header{}, e.Headers...)
		r.Requests = append(r.Requests, Request{e.Number, e.Flow, e.Step, e.Method, e.URL, headers, body, int64(len(e.Body))})
	}
	return r, err
}

// flows returns the flows with their shares.
func flows(t targets.Spec) (all []Flow) {
	var sum int64
	for _, f := range t.Flows {
		sum += max(1, f.Weight)
	}
	for _, f := range t.Redacted().Flows {
		flow := Flow{Name: f.Name, Weight: max(1, f.Weight)}
		flow.Share = float64(flow.Weight) / float64(sum)
		for _, s := range f.Steps {
			step := Step{Name: s.Name, Method: s.Method, URL: s.URL, Stream: s.Stream.String(), Pause: s.Pause}
			if at := int64(s.At); s.After == nil {
				step.At = &at
			} else {
				after := int64(*s.After)
				step.After = &after
			}
			for _, take := range s.Takes {
				step.Takes = append(step.Takes, take.Name)
			}
			flow.Steps = append(flow.Steps, step)
		}
		flow.Least, flow.Most = int64(len(f.Steps)), int64(len(f.Steps))
		if p, err := f.Program(); p != nil && err == nil {
			flow.Least, flow.Most = p.Least, p.Most
			flow.Order = order(nil, f, p, f.Body, 0)
		}
		all = append(all, flow)
	}
	return all
}

// order appends the lines of blocks.
func order(all []Line, f targets.Flow, p *program.Program, blocks []*program.Block, depth int) []Line {
	for _, b := range blocks {
		text := ""
		switch {
		case b.Sends():
			text = f.Steps[b.Step].Name
		case b.If != "":
			text = "if " + b.If
		case b.While != "":
			text = "while " + b.While
		case b.Repeat > 0:
			text = fmt.Sprintf("repeat %d", b.Repeat)
		case b.ForEach != nil:
			text = fmt.Sprintf("for_each %s in ${%s}", b.ForEach.Name, b.ForEach.List)
		case b.Fail != "":
			text = "fail " + b.Fail
		case b.Pause != "":
			text = "pause " + b.Pause
		}
		for _, s := range b.Set {
			text = strings.TrimPrefix(text+", "+s.Name+" = "+s.To, ", ")
		}
		all = append(all, Line{depth, strings.Join(strings.Fields(text), " "), p.Dead[b]})
		all = order(all, f, p, b.Then, depth+1)
		if len(b.Else) > 0 {
			all = order(append(all, Line{depth, "else", p.Dead[b.Else[0]]}), f, p, b.Else, depth+1)
		}
	}
	return all
}
