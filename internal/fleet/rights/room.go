package rights

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report/units"
)

// A RoomError says that an endpoint has no room for what a run wants to send.
type RoomError struct {
	Host   string
	Status string // FULL; QUIET, the ledger may have forgotten what runs hold, and grants nothing for half a minute; FROZEN
	text   string // what is in the way
	advice string
	wants  int64 // requests per 1,000,000 s
	behind bool  // others wait for the room that is left
	never  bool  // it is more than the whole budget, so there is no use in waiting
}

func (e *RoomError) Error() string { return e.text + "; " + e.advice }

// Refused reports whether an error says that the run may not send so much: it has to ask for less, or wait.
func Refused(err error) bool {
	_, room := errors.AsType[*RoomError](err)
	return room || errors.Is(err, run.ErrFrozen)
}

// mostHolders bounds the runs that an error names.
const mostHolders = 3

// noRoom returns the error of an answer that grants nothing.
func (k Keeper) noRoom(ctx context.Context, h share, burst, peak int64, g reserve.Grant) error {
	e := &RoomError{Host: h.host, Status: g.Status, wants: k.need(h, stored{burst: burst}, peak)}
	switch g.Status {
	case "FROZEN":
		e.text = h.host + " is frozen: no run may send there"
		e.advice = fmt.Sprintf("loadctl budget show %s says why, loadctl budget thaw ends it", h.host)
		if k.line != nil {
			e.advice += ", and " + k.line.longer() + " waits for that"
		}
	case "QUIET":
		e.text = h.host + " has a budget, and the ledger of budgets is new in this Redis or may have forgotten what runs hold: it grants nothing new for half a minute"
		e.advice = "try again then"
	default:
		s, err := k.Ledger.List(ctx)
		if err != nil {
			return err
		}
		return k.full(h, burst, peak, g.Left, s)
	}
	return e
}

// full returns the error of an endpoint that has too little room for a run: how much is left, who holds the rest, and what
// to do.
func (k Keeper) full(h share, burst, peak, left int64, s ledger.State) *RoomError {
	e := &RoomError{Host: h.host, Status: "FULL", wants: k.need(h, stored{burst: burst}, peak)}
	rows, sum := s.Sharing(h.host)
	whole := s.Bound(h.host).Rate
	before := s.Before(k.place(h.host))
	upTo := func(right int64) string {
		return "give a rate up to " + perSecond(k.requestsAt(h.allow(k.Run.Spec, burst, right)))
	}
	e.text = fmt.Sprintf("%s has no room for %s: ", h.host, perSecond(e.wants))
	if e.wants > whole {
		e.text += fmt.Sprintf("its whole budget is %s", perSecond(whole))
		e.advice, e.never = upTo(whole), true
		return e
	}
	other := "slow these runs down or stop them"
	if k.line != nil {
		other = "wait with " + k.line.longer()
	}
	if e.behind = len(before) > 0; e.behind {
		e.text += fmt.Sprintf("%s of its budget is left%s, and %s", perSecond(max(0, whole-sum)), k.holders(rows), waiting(len(before)))
	} else {
		e.text += fmt.Sprintf("%s of its budget is left%s", perSecond(left), k.holders(rows))
		if h.allow(k.Run.Spec, burst, left) > 0 {
			other = upTo(left) + ", or " + other
		}
	}
	e.advice = other
	return e
}

// waiting says how many runs wait.
func waiting(n int) string {
	if n == 1 {
		return "1 run waits for it"
	}
	return fmt.Sprintf("%d runs wait for it", n)
}

// longer returns the flag that makes a creation wait longer.
func (l *line) longer() string {
	if l.Room > 0 {
		return "a longer --wait-budget"
	}
	return "--wait-budget 10m"
}

// requestsAt returns the requests of a peak of slots.
func (k Keeper) requestsAt(peak int64) int64 {
	requests, slots := k.Run.Spec.Target.MeanSteps()
	return int64(float64(peak) * float64(requests) / float64(slots))
}

// holders names the runs that hold the rest.
func (k Keeper) holders(rows []ledger.Row) string {
	var names []string
	for _, r := range rows {
		if r.Run != k.Run.UID {
			names = append(names, fmt.Sprintf("%s %s until %s", r.People.Run, perSecond(r.Rate), r.Ends.Format("15:04:05")))
		}
	}
	if n := len(names) - mostHolders; n > 0 {
		names = append(names[:mostHolders], fmt.Sprintf("%d more", n))
	}
	if len(names) == 0 {
		return ""
	}
	return ", the rest hold " + strings.Join(names, ", ")
}

// perSecond writes a rate of the ledger.
func perSecond(rate int64) string {
	r := ledger.RateOf(rate)
	return units.Thousandths(pacer.Rate.Float(r)) + "/s"
}
