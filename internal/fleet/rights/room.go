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
	text   string
}

func (e *RoomError) Error() string { return e.text }

// Refused reports whether an error says that the run may not send so much: it has to ask for less, or wait.
func Refused(err error) bool {
	_, room := errors.AsType[*RoomError](err)
	return room || errors.Is(err, run.ErrFrozen)
}

// mostHolders bounds the runs that an error names.
const mostHolders = 3

// noRoom returns the error of an answer that grants nothing.
func (k Keeper) noRoom(ctx context.Context, h share, burst, peak int64, g reserve.Grant) error {
	e := &RoomError{Host: h.host, Status: g.Status}
	switch g.Status {
	case "FROZEN":
		e.text = fmt.Sprintf("%s is frozen: no run may send there; loadctl budget show %s says why, loadctl budget thaw ends it", h.host, h.host)
	case "QUIET":
		e.text = fmt.Sprintf("%s has a budget, and Redis has lost or moved the ledger: it grants nothing new for half a minute, until it knows again what runs hold; try again then", h.host)
	default:
		most := k.requestsAt(h.allow(k.Run.Spec, burst, g.Left))
		e.text = fmt.Sprintf("%s has no room for %s: %s of its budget is left%s; ", h.host, perSecond(k.need(h, stored{burst: burst}, peak)), perSecond(g.Left), k.holders(ctx, h.host))
		if most > 0 {
			e.text += fmt.Sprintf("give a rate up to %s, or wait with --wait-budget 10m", perSecond(most))
		} else {
			e.text += "wait with --wait-budget 10m"
		}
	}
	return e
}

// requestsAt returns the requests of a peak of slots.
func (k Keeper) requestsAt(peak int64) int64 {
	requests, slots := k.Run.Spec.Target.MeanSteps()
	return int64(float64(peak) * float64(requests) / float64(slots))
}

// holders names the runs that hold the rest.
func (k Keeper) holders(ctx context.Context, host string) string {
	s, err := k.Ledger.List(ctx)
	if err != nil {
		return ""
	}
	var names []string
	rows, _ := s.Sharing(host)
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
