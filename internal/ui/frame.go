// Package ui serves the live page, and the JSON API that it uses: runs as they go, and commands to them.
package ui

import (
	"time"

	"github.com/loadctl/loadctl/internal/results"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
)

// A Frame is what the page shows of a run at one time. The first frame that a page receives has everything. In later
// ones Report.Series and Report.Events begin at SeriesFrom and EventsFrom: replace what you have from there on.
type Frame struct {
	At       time.Time     `json:"at"`    // Redis clock
	Phase    string        `json:"phase"` // as in loadctl status -o json
	Rate     float64       `json:"rate"`
	RateThen float64       `json:"rate_then"`
	EndsAt   time.Time     `json:"ends_at,omitzero"`
	EndedAt  time.Time     `json:"ended_at,omitzero"`
	LeftNS   time.Duration `json:"left_ns,omitempty"`
	Members  int64         `json:"members"`
	Awaits   int64         `json:"min_workers"`
	InFlight int64         `json:"in_flight"` // requests sent and not ended
	Settled  bool          `json:"settled"`   // the run is over and the report is final: no more frames follow
	Control  bool          `json:"control"`   // this server accepts commands

	render.Drawing
	SeriesFrom int `json:"series_from"`
	EventsFrom int `json:"events_from"`

	Outcome string           `json:"outcome"` // passed, failed, undecided or invalid; "" without thresholds
	Checks  []Check          `json:"checks"`  // thresholds, audit and generator
	Fleet   []results.Member `json:"fleet"`
}

// A Check is the result of a threshold, of the audit or of the generator.
type Check struct {
	Name   string `json:"name"`
	Result string `json:"result"` // passed, failed or undecided
	Text   string `json:"text"`   // for people: what was found
}

// NewFrame returns the whole frame of a look.
func NewFrame(l results.Look, control bool) Frame {
	rep := l.Report
	return Frame{
		At: l.Now(), Phase: l.Phase, Rate: l.Rate, RateThen: l.RateThen, EndsAt: l.EndsAt, EndedAt: l.EndedAt, LeftNS: l.LeftNS,
		Members: l.Members, Awaits: l.MinWorkers, InFlight: l.InFlight, Settled: l.Settled, Control: control,
		Drawing: render.Draw(rep), Outcome: rep.Outcome(), Checks: checks(rep), Fleet: l.Fleet(),
	}
}

// checks returns the checks of a report as the page has them.
func checks(rep report.Report) []Check {
	all := []Check{}
	for _, c := range rep.Checks() {
		all = append(all, Check{c.Name, c.Result, c.Text})
	}
	return all
}
