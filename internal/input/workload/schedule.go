package workload

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets/rows"
)

// A Schedule is what a workload file says of the rate over time. The zero value says nothing.
type Schedule struct {
	Rate    Rate     // with Stages, the one to start from
	Stages  []string // as pacer.ParseStage reads
	Profile string   // as pacer.ParseProfile reads: its file has been read
	// Requests of the whole cluster that a closed loop has in flight; 0 = none, or the stages say it.
	Concurrency int64
	Duration    time.Duration     // 0 = until stopped
	Arrivals    string            // as pacer.ParseArrivals reads; "" = even
	Places      map[string]string // FILE:LINE:COLUMN of the values that are there, by their keys
}

// Closed reports whether the file asks for a closed loop.
func (s Schedule) Closed() bool {
	return s.Concurrency > 0 || len(s.Stages) > 0 && strings.Contains(s.Stages[0], ":c=") // all stages are of one kind
}

// A Rate is that of the whole cluster. The zero value says that the file has none.
type Rate struct {
	pacer.Rate
	Requests bool // it counts requests, and else flows
}

// schedule reads the rate over time.
func (d *document) schedule(values map[string]*yaml.Node) (s Schedule, err error) {
	for _, two := range [][2]string{{"rate", "profile"}, {"stages", "profile"}, {"stages", "duration"},
		{"rate", "concurrency"}, {"stages", "concurrency"}, {"profile", "concurrency"}} {
		if a, b := values[two[0]], values[two[1]]; a != nil && b != nil {
			return s, d.fail(b, "%s and %s contradict each other, as both say %s; leave one of them out", two[0], two[1],
				map[string]string{"profile": "the rate", "duration": "how long the run takes", "concurrency": "how much is sent"}[two[1]])
		}
	}
	s.Places = map[string]string{}
	for _, key := range []string{"rate", "stages", "profile", "concurrency", "duration", "arrivals"} {
		if n := values[key]; n != nil {
			s.Places[key] = d.place(n)
		}
	}
	if s.Rate, err = d.rate(values["rate"]); err != nil {
		return s, err
	}
	if s.Stages, err = d.stages(values["stages"]); err != nil {
		return s, err
	}
	if s.Profile, err = d.profile(values["profile"]); err != nil {
		return s, err
	}
	if s.Concurrency, err = d.concurrency(values["concurrency"]); err != nil {
		return s, err
	}
	if s.Duration, err = d.duration(values["duration"]); err != nil {
		return s, err
	}
	s.Arrivals, err = d.arrivals(values["arrivals"])
	if err != nil || !s.Closed() {
		return s, err
	}
	for _, of := range [][2]string{{"rate", "the stages are of a closed loop, which has no rate"}, {"arrivals", "a closed loop sends when an answer comes"}} {
		if n := values[of[0]]; n != nil {
			return s, d.fail(n, "%s; leave %s out, or give a rate in place of the closed loop", of[1], of[0])
		}
	}
	return s, nil
}

// closedLoop refuses what a closed loop cannot have.
func (d *document) closedLoop(w Workload) error {
	if !w.Closed() {
		return nil
	}
	for _, f := range w.Flows {
		if len(f.Steps) > 1 {
			return fmt.Errorf("%s: a closed loop has flows of one step, as without a rate no slot starts a flow; make a flow of each step, or give a rate", f.Places[1])
		}
	}
	for _, of := range w.Data {
		if of.Pick == rows.Once {
			return fmt.Errorf("%s: a closed loop has no pick: once, as each worker counts its own requests and rows would repeat; take another pick, or give a rate", of.Place)
		}
	}
	return nil
}

// concurrency returns how many requests are in flight.
func (d *document) concurrency(n *yaml.Node) (int64, error) {
	text, err := d.text(n, "concurrency: 8")
	if err != nil || n == nil {
		return 0, err
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 1 || v > pacer.MaxConcurrency {
		return 0, d.fail(n, "%.40q is no number of requests in flight of the whole cluster; write 1 to %d, such as concurrency: 8", text, pacer.MaxConcurrency)
	}
	return v, nil
}

// rates matches a rate with what it counts.
var rates = regexp.MustCompile(`^(\S+) +(flow|request)s?/([0-9a-z]+)$`)

// rate returns the rate.
func (d *document) rate(n *yaml.Node) (r Rate, err error) {
	const example = "rate: 400 flows/s, or rate: 480 requests/s"
	text, err := d.text(n, example)
	if err != nil || n == nil {
		return r, err
	}
	m := rates.FindStringSubmatch(text)
	if m == nil {
		return r, d.fail(n, "%.40q is no rate; write %s; for a closed loop write concurrency: 8, or use --qps max", text, example)
	}
	if r.Rate, err = pacer.ParseRate(m[1] + "/" + m[3]); err != nil {
		return r, d.fail(n, "%w; write %s", err, example)
	}
	if r.Num == 0 {
		return r, d.fail(n, "the rate is 0; write %s, or leave it out and use --qps", example)
	}
	r.Requests = m[2] == "request"
	return r, nil
}

// stages returns the ramps, or the numbers of requests in flight.
func (d *document) stages(n *yaml.Node) (all []string, err error) {
	const example = "stages: [30s:200, 1m:200], or stages: [60s:c=8, 60s:c=16]"
	var first pacer.Stage
	list, err := d.texts(n, example)
	if err == nil && n != nil && len(list) == 0 {
		err = d.fail(n, "there is no stage; write %s", example)
	}
	for i, item := range list {
		stage, err := pacer.ParseStage(item.Value)
		if i == 0 {
			first = stage
		}
		switch {
		case err != nil:
			return nil, d.fail(item, "%w; write %s", err, example)
		case (stage.Concurrency > 0) != (first.Concurrency > 0):
			return nil, d.fail(item, "the first stage has a %s, this one has none; write %s", map[bool]string{true: "concurrency", false: "rate"}[first.Concurrency > 0], example)
		}
		all = append(all, item.Value)
	}
	return all, err
}

// profile returns the profile. It reads the file that the profile names, which lies beside the workload file.
func (d *document) profile(n *yaml.Node) (string, error) {
	const longest = 1000
	const example = `profile: "sine:mean=1k,amplitude=400,period=1m"`
	text, err := d.text(n, example)
	if err != nil || n == nil {
		return "", err
	}
	if len(text) > longest || strings.ContainsFunc(text, unicode.IsControl) {
		return "", d.fail(n, "the profile has control characters, or more than %d bytes; write %s", longest, example)
	}
	loaded, err := pacer.LoadProfile(text, func(name string) (io.ReadCloser, error) { return os.Open(d.beside(name)) })
	if err == nil {
		_, err = pacer.ParseProfile(loaded)
	}
	if err != nil {
		return "", d.fail(n, "%w; see docs/workloads.md#rates-over-time", err)
	}
	return loaded, nil
}

// duration returns how long the run takes.
func (d *document) duration(n *yaml.Node) (time.Duration, error) {
	text, err := d.text(n, "duration: 5m")
	if err != nil || n == nil {
		return 0, err
	}
	t, err := pacer.ParseDuration(text)
	if err == nil && t > 0 && t < time.Millisecond {
		err = errors.New("the duration is below 1ms; write 30s, 5m, 1h30m or 2d")
	}
	if err != nil {
		return 0, d.fail(n, "%w", err)
	}
	return t, nil
}

// arrivals returns how requests lie in time.
func (d *document) arrivals(n *yaml.Node) (string, error) {
	const example = "arrivals: even, arrivals: poisson or arrivals: poisson:SEED"
	text, err := d.text(n, example)
	if err != nil || n == nil {
		return "", err
	}
	seed, err := pacer.ParseArrivals(text)
	switch {
	case text == "" || err != nil:
		return "", d.fail(n, "arrivals %.40q are not known, or their seed is no whole number from 1 to 2147483646; write %s", text, example)
	case seed == 0:
		return "", nil
	}
	return text, nil
}
