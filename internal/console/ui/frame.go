// Package ui serves the live page, and the JSON API that it uses: runs as they go, and commands to them.
//
//	s, err := ui.New(ui.Options{Connect: connect, Control: true, Announce: show})
//	if err != nil { … }
//	err = s.Serve(ctx, listener) // until ctx ends
//
// All pages of a run share one watcher (hub.go), so a page costs Redis nothing. Reading changes nothing in Redis, and is
// no sign of life for --deadman. Commands are. docs/api.md describes the API, and docs/live.md the security.
package ui

import (
	"cmp"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
)

// A Frame is what the page shows of a run at one time. The first frame that a page receives has everything. In later
// ones Report.Series, Report.Events, Marks and Heat.Columns begin at SeriesFrom, EventsFrom, MarksFrom and HeatFrom:
// replace what you have from there on. Report.Workers is empty, as Fleet has them, and so are the described commands, as
// Report.Events has them. Report.Samples are another answer.
type Frame struct {
	At          time.Time     `json:"at"`    // Redis clock
	Phase       string        `json:"phase"` // as in loadctl status -o json
	Rate        float64       `json:"rate"`  // flows per second
	RateThen    float64       `json:"rate_then"`
	Concurrency int64         `json:"concurrency,omitempty"` // requests in flight, now or when the run goes on; absent = it has no such number
	Factor      float64       `json:"factor,omitempty"`      // the part of its plan's rates that the run sends, 0…1; absent = all
	Steps       float64       `json:"steps_per_flow"`        // mean number of requests of a flow: commands take Rate · Steps
	EndsAt      time.Time     `json:"ends_at,omitzero"`
	EndedAt     time.Time     `json:"ended_at,omitzero"`
	LeftNS      time.Duration `json:"left_ns,omitempty"`
	Members     int64         `json:"members"`
	Awaits      int64         `json:"min_workers"`
	InFlight    int64         `json:"in_flight"` // requests sent and not ended
	Settled     bool          `json:"settled"`   // the run is over and the report is final: no more frames follow
	Control     bool          `json:"control"`   // this server accepts commands

	// What budgets make of the run, and guards.
	Frozen  bool `json:"frozen"`   // nobody may send at one of its endpoints
	NoRight bool `json:"no_right"` // it sends nothing new: it waits for room at an endpoint, or for the ledger

	render.Drawing
	SeriesFrom int `json:"series_from"`
	EventsFrom int `json:"events_from"`
	MarksFrom  int `json:"marks_from"`
	HeatFrom   int `json:"heat_from"` // above 0 only if width and rows of the heat map are as before

	Outcome string  `json:"outcome"` // passed, failed, undecided or invalid; "" without thresholds
	Checks  []Check `json:"checks"`  // thresholds, audit, generator and reduced

	// Fleet has at most MostMembers processes: those with problems first. FleetStates counts all processes by state.
	Fleet       []results.Member `json:"fleet"`
	FleetStates map[string]int   `json:"fleet_states"`
}

// A Check is the result of a threshold, of the audit, of the generator, or says whether a guard reduced the rate.
type Check struct {
	Name   string `json:"name"`
	Result string `json:"result"` // passed, failed or undecided
	Text   string `json:"text"`   // for people: what was found
}

// MostMembers bounds the processes in a Frame.
const MostMembers = 200

// NewFrame returns the whole frame of a look.
func NewFrame(l results.Look, control bool) Frame {
	rep := l.Report
	fleet := l.Fleet()
	f := Frame{
		At: l.Now(), Phase: l.Phase, Rate: l.Rate, RateThen: l.RateThen, Concurrency: l.Concurrency, Factor: l.Factor, Steps: cmp.Or(l.StepsPerFlow, 1), EndsAt: l.EndsAt, EndedAt: l.EndedAt, LeftNS: l.LeftNS,
		Members: l.Members, Awaits: l.MinWorkers, InFlight: l.InFlight, Settled: l.Settled, Control: control,
		Frozen: l.Frozen && l.EndedAt.IsZero(), NoRight: l.NoRight && l.Phase == "running",
		Drawing: render.Draw(rep), Outcome: rep.Outcome(), Checks: checks(rep), FleetStates: states(fleet), Fleet: foremost(fleet),
	}
	f.Report.Workers = []report.WorkerReport{}
	f.Report.Samples = nil   // they may be large; pages ask for those that they show
	if len(rep.Events) > 0 { // they have the commands too, and there may be thousands
		f.Report.Described.Commands = []report.Command{}
	}
	return f
}

// checks returns the checks of a report as the page has them.
func checks(rep report.Report) []Check {
	all := []Check{}
	for _, c := range rep.Checks() {
		all = append(all, Check{c.Name, c.Result, c.Text})
	}
	return all
}

// states counts processes by state.
func states(fleet []results.Member) map[string]int {
	n := map[string]int{}
	for _, m := range fleet {
		n[m.State]++
	}
	return n
}

// foremost returns the processes that a frame shows. A fleet that is too large for it begins with the problems.
func foremost(fleet []results.Member) []results.Member {
	if len(fleet) <= MostMembers {
		return fleet
	}
	slices.SortStableFunc(fleet, func(a, b results.Member) int {
		return cmp.Or(cmp.Compare(a.Severity(), b.Severity()), cmp.Compare(a.ID, b.ID))
	})
	return fleet[:MostMembers]
}
