// Package ui serves the live page, and the JSON API that it uses: runs as they go, and commands to them.
package ui

import (
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/results"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
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

	Outcome string   `json:"outcome"` // passed, failed, undecided or invalid; "" without thresholds
	Checks  []Check  `json:"checks"`  // thresholds, audit and generator
	Fleet   []Member `json:"fleet"`
}

// A Check is the result of a threshold, of the audit or of the generator.
type Check struct {
	Name   string `json:"name"`
	Result string `json:"result"` // passed, failed or undecided
	Text   string `json:"text"`   // for people: what was found
}

// A Member is one process of a worker in a Frame.
type Member struct {
	ID            string           `json:"id"`
	Incarnation   string           `json:"incarnation"`
	State         string           `json:"state"`
	Weight        int64            `json:"weight"`
	Share         float64          `json:"share"` // of the fleet's schedule now, 0…1
	Owned         int64            `json:"owned"` // slots so far
	Sent          int64            `json:"sent"`  // flows so far
	LateDropped   int64            `json:"late_dropped"`
	Rate          float64          `json:"rate"`       // requests per second in its newest interval
	InFlight      int64            `json:"in_flight"`  // sent and not ended
	LagP99NS      int64            `json:"lag_p99_ns"` // sent − due in its newest interval; 0 = nothing was sent
	LastSeen      time.Time        `json:"last_seen,omitzero"`
	PromisedUntil time.Time        `json:"promised_until,omitzero"`
	Verdicts      []record.Verdict `json:"verdicts"`
}

// NewFrame returns the whole frame of a look.
func NewFrame(l results.Look, control bool) Frame {
	rep := l.Report
	return Frame{
		At: l.Now(), Phase: l.Phase, Rate: l.Rate, RateThen: l.RateThen, EndsAt: l.EndsAt, EndedAt: l.EndedAt, LeftNS: l.LeftNS,
		Members: l.Members, Awaits: l.MinWorkers, InFlight: l.InFlight, Settled: l.Settled, Control: control,
		Drawing: render.Draw(rep), Outcome: rep.Outcome(), Checks: checks(rep), Fleet: fleet(l),
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

// fleet returns the processes of a look, present ones first.
func fleet(l results.Look) []Member {
	var weights int64
	known := map[string]run.Worker{}
	for _, w := range l.Workers {
		known[w.Process()] = w
		if present(w.State) {
			weights += w.Weight
		}
	}
	all := []Member{}
	for _, r := range l.Report.Workers {
		key := r.ID + "/" + r.Incarnation
		w, pulse := known[key], l.Pulses[key]
		m := Member{ID: r.ID, Incarnation: r.Incarnation, State: r.State, Weight: w.Weight, Owned: w.Owned, Sent: r.Sent, LateDropped: r.LateDropped,
			InFlight: pulse.InFlight, LastSeen: r.LastSeen, PromisedUntil: w.PromisedUntil, Verdicts: r.Verdicts}
		if present(r.State) {
			m.LagP99NS = pulse.LagP99NS
			if weights > 0 {
				m.Share = float64(w.Weight) / float64(weights)
			}
			if us := pulse.End - pulse.Start; us > 0 {
				m.Rate = float64(pulse.Sent) / (float64(us) / 1e6)
			}
		}
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b Member) int {
		switch pa, pb := present(a.State), present(b.State); {
		case pa && !pb:
			return -1
		case pb && !pa:
			return 1
		}
		return 0
	})
	return all
}

// present tells whether a process in this state takes part in the run.
func present(state string) bool { return state == "active" || state == "silent" }
