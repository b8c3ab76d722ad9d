package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/report/record"
)

// An Event is something that happened to a run: a command, a join, a leave, a fault.
type Event struct {
	At   time.Time `json:"at"` // Redis clock
	Kind string    `json:"kind"`
	Who  string    `json:"who"`
	What string    `json:"what,omitempty"`
}

// maxEvents bounds the events of a report.
const maxEvents = 1000

// allEvents returns the known events, with the outages that workers reported.
func (in Input) allEvents() []Event {
	seen := outages(in.Workers)
	if len(seen) == 0 {
		return in.Events // in their order, even if the clock was set back
	}
	return slices.SortedStableFunc(slices.Values(slices.Concat(in.Events, seen)), func(a, b Event) int { return a.At.Compare(b.At) })
}

// takeEvents takes the newest of all events, which are in order, and notes how many it leaves out.
func (r *Report) takeEvents(all []Event) {
	older := max(0, len(all)-maxEvents)
	r.Events = append([]Event{}, all[older:]...)
	if older > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("the report lists the last %d changes of the run; %d older ones are left out", maxEvents, older))
	}
	r.takeScalings()
}

// noteStop notes who ended the run, if it ended long before its planned end.
func (r *Report) noteStop(planned time.Duration) {
	if r.Running || r.Length() > planned-time.Second {
		return
	}
	for _, e := range slices.Backward(r.Events) {
		who := "stop by " + e.Who
		switch e.Kind {
		case "deadman":
			who = "its dead-man's switch stopped it"
		case "stop":
		default:
			continue
		}
		r.Notes = append(r.Notes, fmt.Sprintf("the run ended after %v of %v: %s", r.Length().Round(100*time.Millisecond), planned, who))
		return
	}
}

// Paused returns how long the run was paused in all, by its events; a pause that nothing has ended lasts until the end,
// or until now. In a combined report it is the time in which at least one of the runs was paused.
func (r Report) Paused() (all time.Duration) {
	var since time.Time
	pauses := 0 // of combined runs several may overlap
	for _, e := range r.Events {
		switch {
		case e.Kind == "pause":
			if pauses++; pauses == 1 {
				since = e.At
			}
		case e.Kind == "resume" && pauses > 0: // else the event of its pause is among those left out
			if pauses--; pauses == 0 {
				all += max(0, e.At.Sub(since))
			}
		}
	}
	if pauses > 0 {
		all += max(0, r.StartedAt.Add(r.Length()).Sub(since))
	}
	return all
}

// eventsOf returns the events of all parts in order. Like the series, they are aligned by the time since each start;
// the start of the sum is began. Parts without a start time, or with one outside the valid range, keep their own times.
func eventsOf(parts []Part, began time.Time) []Event {
	var all []Event
	for _, p := range parts {
		for _, e := range p.Report.Events {
			if start := p.Report.StartedAt; !start.IsZero() {
				if at := began.Add(e.At.Sub(start)); inEra(at) {
					e.At = at
				}
			}
			e.Who = p.Name + ": " + e.Who
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return a.At.Compare(b.At) })
	return all
}

// inEra reports whether Redis' clock can show t: from 1970 to 2255, in µs.
func inEra(t time.Time) bool { return t.Unix() >= 0 && t.Unix() <= record.MaxCount/1_000_000 }

// CheckEvents refuses events that no report has. It replaces nil by an empty list. Older programs wrote no events.
func (r *Report) CheckEvents() error {
	if r.Events == nil {
		r.Events = []Event{}
	}
	if len(r.Events) > maxEvents {
		return fmt.Errorf("%d events, more than %d", len(r.Events), maxEvents)
	}
	for i, e := range r.Events {
		if !inEra(e.At) {
			return fmt.Errorf("event %d is at %s", i, e.At.Format(time.RFC3339))
		}
	}
	return nil
}
