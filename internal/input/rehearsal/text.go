package rehearsal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/units"
	"github.com/loadctl/loadctl/targets"
)

// Text writes it for people.
func (r Rehearsal) Text(w io.Writer) error {
	var b bytes.Buffer
	r.schedule(&b)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FLOW\tSHARE\tWEIGHT\tFLOWS/S\tREQUESTS/S")
	for _, f := range r.Flows {
		flows, requests := "-", "-"
		if r.FlowsPerSecond != nil {
			flows, requests = units.Rate(*r.FlowsPerSecond*f.Share), f.rate(*r.FlowsPerSecond*f.Share)
		}
		printable.Fprintf(t, "%s\t%s %%\t%d\t%s\t%s\n", f.Name, units.Percent(f.Share), f.Weight, flows, requests)
	}
	fmt.Fprintln(t, "\nFLOW\tSTEP\tDUE\tREQUEST\t")
	for _, f := range r.Flows {
		for _, s := range f.Steps {
			printable.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", f.Name, s.Name, s.due(), request(s.Method, s.URL), s.answer())
		}
	}
	r.orders(t)
	if len(r.Data) > 0 {
		fmt.Fprintln(t, "\nDATA\tROWS\tPICK")
	}
	for _, d := range r.Data {
		printable.Fprintf(t, "%s\t%d\t%s\n", d.Name, d.Rows, d.Pick)
	}
	_ = t.Flush() // a buffer takes all
	r.lists(&b)
	// Cells at the end of a line are padded to the width of their column.
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// rate returns the requests per second of so many flows per second.
func (f Flow) rate(flows float64) string {
	if f.Least == f.Most {
		return units.Rate(flows * float64(f.Most))
	}
	return units.Rate(flows*float64(f.Least)) + " to " + units.Rate(flows*float64(f.Most))
}

// orders writes in which order flows with conditions and loops send their steps.
func (r Rehearsal) orders(w io.Writer) {
	for _, f := range r.Flows {
		if len(f.Order) == 0 {
			continue
		}
		printable.Fprintf(w, "\nORDER OF %s: at least %d, at most %d requests\n", f.Name, f.Least, f.Most)
		for _, l := range f.Order {
			printable.Fprintf(w, "%s%s%s\n", strings.Repeat("  ", l.Depth), l.Text, map[bool]string{true: "  (never reached)"}[l.Never])
		}
	}
}

// perFlow says how many requests a flow has.
func (r Rehearsal) perFlow() string {
	if r.LeastPerFlow > 0 {
		return fmt.Sprintf("requests in each flow: at least %.4g, at most %.4g", r.LeastPerFlow, r.StepsPerFlow)
	}
	return fmt.Sprintf("requests in each flow: %.4g", r.StepsPerFlow)
}

// schedule writes what holds for the whole run. It leaves out defaults.
func (r Rehearsal) schedule(b io.Writer) {
	fmt.Fprintf(b, "rate      %s\n", r.rate())
	if len(r.Stages) > 0 {
		printable.Fprintf(b, "stages    %s\n", strings.Join(r.Stages, ", "))
	}
	if r.Profile != "" {
		printable.Fprintf(b, "profile   %s\n", r.Profile)
	}
	if r.Length > 0 {
		fmt.Fprintf(b, "length    %s\n", units.Length(time.Duration(r.Length*1e9)))
	}
	if r.Arrivals != pacer.EvenArrivals {
		fmt.Fprintf(b, "arrivals  %s\n", r.Arrivals)
	}
	if r.Pick == targets.PickRandom {
		fmt.Fprintln(b, "pick      random: the shares hold on average")
	}
	if r.Cookies {
		fmt.Fprintln(b, "cookies   each flow keeps its own")
	}
	fmt.Fprintln(b)
}

// rate says how much is sent.
func (r Rehearsal) rate() string {
	switch {
	case len(r.Concurrency) > 0:
		return fmt.Sprintf("%s: as many requests in flight (cluster total)", units.InFlight(r.Concurrency))
	case r.closed:
		return fmt.Sprintf("max, as fast as it goes; %s", r.perFlow())
	case r.FlowsPerSecond == nil:
		return fmt.Sprintf("none in the file, so --qps says it; %s", r.perFlow())
	}
	most := ""
	if len(r.Stages) > 0 || r.Profile != "" {
		most = "at most "
	}
	if r.RateOf == targets.RateOfRequests {
		return fmt.Sprintf("%s%s requests/s, each with a slot, for about %s flows/s (cluster total)", most, units.Rate(*r.RequestsPerSecond), units.Rate(*r.FlowsPerSecond))
	}
	requests := units.Rate(*r.RequestsPerSecond)
	if r.LeastPerFlow > 0 {
		requests = units.Rate(*r.FlowsPerSecond*r.LeastPerFlow) + " to " + requests
	}
	return fmt.Sprintf("%s%s flows/s, %s requests/s (cluster total)", most, units.Rate(*r.FlowsPerSecond), requests)
}

// due says when a step is sent.
func (s Step) due() string {
	if s.Pause != "" {
		return s.Pause + " after the answer"
	}
	if s.After != nil {
		return fmt.Sprintf("%v after the answer", time.Duration(*s.After))
	}
	return fmt.Sprintf("at %v", time.Duration(*s.At))
}

// request shows method and URL. Only HTTP has methods.
func request(method, url string) string { return strings.TrimSpace(method + " " + url) }

// answer says what a step expects in pieces, and what it keeps of its answer.
func (s Step) answer() string {
	var parts []string
	if s.Stream != "" {
		parts = append(parts, "events "+s.Stream)
	}
	if len(s.Takes) > 0 {
		parts = append(parts, "takes "+strings.Join(s.Takes, ", "))
	}
	return strings.Join(parts, "; ")
}

// lists writes thresholds and requests.
func (r Rehearsal) lists(b io.Writer) {
	for i, text := range r.Thresholds {
		if i == 0 {
			fmt.Fprintln(b, "\nTHRESHOLDS")
		}
		printable.Fprintf(b, "%s\n", text)
	}
	fmt.Fprintf(b, "\nTHE FIRST %d REQUESTS\n", len(r.Requests))
	for _, q := range r.Requests {
		printable.Fprintf(b, "%d  %s  (%s, %s)\n", q.Slot, request(q.Method, q.URL), q.Flow, q.Step)
		for _, h := range q.Headers {
			printable.Fprintf(b, "   %s: %s\n", h.Name, h.Value)
		}
		switch {
		case q.Bytes > int64(len(q.Body)):
			printable.Fprintf(b, "   %s… (%d bytes)\n", q.Body, q.Bytes)
		case q.Bytes > 0:
			printable.Fprintf(b, "   %s\n", q.Body)
		}
	}
}
