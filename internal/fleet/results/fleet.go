package results

import (
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/report/record"
)

// A Member is what one process of a worker does now, for those who watch.
type Member struct {
	ID          string           `json:"id"`
	Incarnation string           `json:"incarnation"`
	State       string           `json:"state"`
	Weight      int64            `json:"weight"`
	Share       float64          `json:"share"` // of the fleet's schedule now, 0…1
	Owned       int64            `json:"owned"` // slots so far
	Sent        int64            `json:"sent"`  // flows so far
	LateDropped int64            `json:"late_dropped"`
	Rate        float64          `json:"rate"`       // requests per second in its newest interval
	InFlight    int64            `json:"in_flight"`  // sent and not ended
	LagP99NS    int64            `json:"lag_p99_ns"` // sent − due in its newest interval; 0 = nothing was sent
	LastSeen    time.Time        `json:"last_seen,omitzero"`
	LeaseUntil  time.Time        `json:"lease_until,omitzero"`
	Verdicts    []record.Verdict `json:"verdicts"`
}

// Fleet returns the processes of the run, present ones first.
func (l Look) Fleet() []Member {
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
			InFlight: pulse.InFlight, LastSeen: r.LastSeen, LeaseUntil: w.LeaseUntil, Verdicts: r.Verdicts}
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

// present reports whether a process in this state takes part in the run.
func present(state string) bool { return state == "active" || state == "silent" }

// Severity is the place of a process among the others: 0 = the first to look at.
func (m Member) Severity() int {
	switch {
	case m.State == "silent":
		return 0
	case len(m.Verdicts) > 0:
		return 1
	case m.State == "lost":
		return 2
	case m.State == "active":
		return 3
	default:
		return 4
	}
}
