package search

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loadctl/loadctl/internal/output/printable"
)

// Answer is the JSON output of the command search.
type Answer struct {
	Run    string  `json:"run"`
	End    string  `json:"end"`    // found, above (--to still passed), below (nothing passed), no answer, or interrupted
	Rate   float64 `json:"rate"`   // the highest that passed; 0 = none
	Failed float64 `json:"failed"` // the lowest that failed; 0 = none
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	StepS  float64 `json:"step_s"`
	TookS  float64 `json:"took_s"`

	Objectives []string      `json:"objectives"`
	Probes     []AnswerProbe `json:"probes"`
}

// AnswerProbe is one probe.
type AnswerProbe struct {
	Rate      float64       `json:"rate"`
	Phase     string        `json:"phase"`   // double, bisect or confirm
	Outcome   string        `json:"outcome"` // passed, failed or no answer
	Why       string        `json:"why"`     // "" = it passed
	At        time.Time     `json:"at"`      // since when the rate has been in force
	MeasuredS float64       `json:"measured_s"`
	Values    []AnswerValue `json:"values"`
}

// AnswerValue is the measured value of one objective.
type AnswerValue struct {
	Objective string  `json:"objective"`
	Result    string  `json:"result"` // passed, failed or undecided
	Value     float64 `json:"value"`  // 0 if nothing was measured
	Unit      string  `json:"unit"`   // as in a report
	Text      string  `json:"text"`   // for people
}

// NewAnswer returns the answer of a search in a run, as far as it got.
func NewAnswer(run string, t Task, r Result, took time.Duration) Answer {
	a := Answer{Run: run, End: string(r.End), Rate: r.Rate, From: t.From, To: t.To, StepS: t.Length.Seconds(), TookS: took.Seconds(),
		Objectives: []string{}, Probes: []AnswerProbe{}}
	if a.End == "" {
		a.End = "interrupted"
	}
	if !math.IsInf(r.Failed, 1) {
		a.Failed = r.Failed
	}
	for _, o := range t.Objectives {
		a.Objectives = append(a.Objectives, o.Text)
	}
	for _, x := range r.Probes {
		probe := AnswerProbe{Rate: x.Rate, Phase: string(x.Phase), Outcome: x.Outcome.String(), Why: x.Why, At: x.At.UTC(), MeasuredS: x.Length.Seconds(),
			Values: []AnswerValue{}}
		for _, v := range x.Values {
			value := AnswerValue{Objective: v.Threshold, Result: v.Result, Unit: string(v.Unit), Text: v.Text}
			if v.Value != nil {
				value.Value = *v.Value
			}
			probe.Values = append(probe.Values, value)
		}
		a.Probes = append(a.Probes, probe)
	}
	return a
}

// Last is the last probe.
func (a Answer) Last() AnswerProbe {
	if len(a.Probes) == 0 {
		return AnswerProbe{}
	}
	return a.Probes[len(a.Probes)-1]
}

// headline is the answer in one line.
func (a Answer) headline() string {
	switch End(a.End) {
	case Found:
		return fmt.Sprintf("meets its objectives up to %s/s", Rate(a.Rate))
	case AboveTo:
		return fmt.Sprintf("meets its objectives at %s/s, the highest rate tried; raise --to to search higher", Rate(a.Rate))
	case BelowFrom:
		return fmt.Sprintf("misses its objectives even at %s/s; lower --from to search lower", Rate(a.Failed))
	case Unknown:
		return fmt.Sprintf("no answer: the result at %s/s is unknown", Rate(a.Last().Rate))
	}
	return "interrupted; this is what is known so far"
}

// knee says between which rates the service stops meeting its objectives.
func (a Answer) knee() string {
	passed, failed := "nothing passed", "nothing failed"
	if a.Rate > 0 {
		passed = Rate(a.Rate) + "/s passed"
	}
	if a.Failed > 0 {
		failed = Rate(a.Failed) + "/s failed"
	}
	return passed + ", " + failed
}

// WriteText writes the answer as text.
func (a Answer) WriteText(w io.Writer) error {
	printable.Fprintf(w, "%s: %s\n", a.Run, a.headline())
	printable.Fprintf(w, "knee    %s\n", a.knee())
	printable.Fprintf(w, "probes  %d in %s, each of %gs\n\n", len(a.Probes), time.Duration(a.TookS*1e9).Round(time.Second), a.StepS)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row(t, append(append([]string{"RATE", "FOR", "OUTCOME"}, a.metrics()...), "WHY"))
	for _, p := range a.Probes {
		values := make([]string, len(a.Objectives))
		for i, v := range p.Values {
			values[i] = v.Text
		}
		row(t, append(append([]string{Rate(p.Rate) + "/s", p.Phase, p.Outcome}, values...), p.Why))
	}
	return t.Flush()
}

// row writes the cells of a table.
func row(w io.Writer, cells []string) {
	for i, cell := range cells {
		end := "\t"
		if i == len(cells)-1 {
			end = "\n"
		}
		printable.Fprintf(w, "%s"+end, cell)
	}
}

// metrics returns the column headers: the objectives without their limits.
func (a Answer) metrics() []string {
	heads := make([]string, len(a.Objectives))
	for i, o := range a.Objectives {
		if n := strings.IndexAny(o, "<>=!"); n > 0 {
			o = o[:n]
		}
		heads[i] = strings.TrimSpace(o)
	}
	return heads
}

// Line is one probe on a line.
func Line(p Probe) string {
	text := fmt.Sprintf("%s/s  %s  %s", Rate(p.Rate), p.Phase, p.Outcome)
	var values []string
	for _, v := range p.Values {
		values = append(values, v.Text)
	}
	switch {
	case p.Why != "":
		text += ": " + p.Why
	case len(values) > 0:
		text += ": " + strings.Join(values, ", ")
	}
	return text
}
