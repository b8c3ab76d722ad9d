package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/console/budgets"
	"github.com/loadctl/loadctl/internal/fleet/endpoint"
	"github.com/loadctl/loadctl/internal/fleet/ledger"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

// budgetList is what the ledger has.
type budgetList struct {
	Control bool `json:"control"`
	budgets.Document
	Hosts []budgets.Endpoint `json:"hosts"` // of each budget, and of each host without one where runs hold something
}

// budgetDone is what a change of a budget has left.
type budgetDone struct {
	budgets.Document
	Pending string `json:"pending,omitempty"` // why not all runs obey it yet
}

// listBudgets answers with all budgets, and with what runs hold.
func (s *Server) listBudgets(w http.ResponseWriter, r *http.Request) {
	state, err := s.ledger.get(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, budgetList{s.Control, budgets.All(state), append([]budgets.Endpoint{}, budgets.Each(state)...)})
}

// A budgetOrder is the body of a change of a budget. Each change uses its own members.
type budgetOrder struct {
	Rate string  `json:"rate"`
	Note *string `json:"note"` // nil = the last one stays
	Cut  bool    `json:"cut"`
	Why  string  `json:"why"`
}

// A budgetChange checks an order, and returns what makes the change at the ledger.
type budgetChange func(name string, o budgetOrder) (makeChange, error)

// makeChange makes a change. before is what the ledger had.
type makeChange func(ctx context.Context, l ledger.Ledger, before ledger.State) (ledger.Change, error)

// errUnchanged says that there is nothing to change.
var errUnchanged = errors.New("nothing to change")

// obeying is how long an answer waits until all runs obey. A new ledger grants nothing for 31 s.
const obeying = 45 * time.Second

// budget serves a change of a budget. It answers when all runs obey, or says for whom it waits.
func (s *Server) budget(do budgetChange) http.HandlerFunc {
	return controlled(s, func(q *http.Request, o budgetOrder) (any, error) {
		name, err := endpoint.Parse(q.PathValue("budget"))
		if err != nil {
			return nil, bad(err)
		}
		change, err := do(name, o)
		if err != nil {
			return nil, bad(err)
		}
		client, err := s.hub.connect(q.Context())
		if err != nil {
			return nil, err
		}
		defer s.ledger.forget()
		return s.changeBudget(q.Context(), client, name, change)
	})
}

// changeBudget makes a change, makes runs obey it at once, and waits until all do.
func (s *Server) changeBudget(ctx context.Context, client rdb.Client, name string, change makeChange) (done budgetDone, err error) {
	l := ledger.Ledger{Client: client}
	before, err := l.List(ctx)
	if err != nil {
		return done, err
	}
	made, err := change(ctx, l, before)
	if errors.Is(err, errUnchanged) {
		done.Document = budgets.Of(before, budgets.Change{Name: name, Command: made.Kind, At: before.Now})
		return done, nil
	}
	if err != nil {
		return done, explainChange(ctx, l, made, err)
	}
	s.ledger.forget()
	limit, cancel := context.WithTimeout(s.ctx, obeying) // also if the page is closed: a failover may forget the change
	defer cancel()
	s.deliver(limit, client, made)
	waited := l.Changed(limit, made)
	if waited != nil && !errors.Is(waited, context.DeadlineExceeded) {
		return done, explainChange(ctx, l, made, waited)
	}
	after, err := l.List(context.WithoutCancel(ctx))
	if err != nil {
		return done, err
	}
	if waited != nil {
		done.Pending = budgets.Unobeyed(after, made)
	}
	done.Document = budgets.Of(after, budgets.Change{Name: name, Command: strings.Replace(made.Kind, "cut", "set", 1), Changed: true, At: made.At()})
	return done, nil
}

// deliver makes the runs obey a change now, and shows it on their pages. What it cannot reach, the judges of the runs do.
func (s *Server) deliver(ctx context.Context, client rdb.Client, made ledger.Change) {
	limit, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	now, err := ledger.Ledger{Client: client}.List(limit)
	if err != nil {
		return
	}
	rows := now.Fitted(made.Name)
	_ = rights.Deliver(limit, client, rows)
	for _, row := range rows {
		s.hub.wake(row.People.Run)
	}
}

// explainChange adds to an error of a change what is in its way, and what to do.
func explainChange(ctx context.Context, l ledger.Ledger, change ledger.Change, err error) error {
	if s, failed := l.List(ctx); failed == nil && errors.Is(err, ledger.ErrFull) {
		return fmt.Errorf(`%w: %s; give a higher rate, slow these runs down or stop them, or bring them down with "cut":true`, err, budgets.Above(s, change).Holders())
	}
	return err
}

// setBudget sets the rate of a budget.
func setBudget(name string, o budgetOrder) (makeChange, error) {
	rate, err := ledger.ParseRate(o.Rate)
	if err != nil {
		return nil, err
	}
	if o.Note != nil {
		if err := budgets.CheckText(*o.Note); err != nil {
			return nil, fmt.Errorf("note %.40q: %w", *o.Note, err)
		}
	}
	return func(ctx context.Context, l ledger.Ledger, before ledger.State) (ledger.Change, error) {
		note := ledger.Note{Text: before.Budget(name).Note.Text, Who: run.Who()}
		if o.Note != nil {
			note.Text = *o.Note
		}
		return l.Set(ctx, name, rate, o.Cut, note)
	}, nil
}

// freeze stops all sending at the endpoints that a name fits.
func freeze(name string, o budgetOrder) (makeChange, error) {
	if err := budgets.CheckText(o.Why); err != nil {
		return nil, fmt.Errorf("why %.40q: %w", o.Why, err)
	}
	if strings.TrimSpace(o.Why) == "" {
		return nil, errors.New(`say why nobody may send there, such as "why":"incident 4711"`)
	}
	return func(ctx context.Context, l ledger.Ledger, _ ledger.State) (ledger.Change, error) {
		return l.Freeze(ctx, name, ledger.Note{Text: o.Why, Who: run.Who()})
	}, nil
}

// thaw ends a freeze.
func thaw(name string, _ budgetOrder) (makeChange, error) {
	return func(ctx context.Context, l ledger.Ledger, before ledger.State) (ledger.Change, error) {
		if !before.Budget(name).Frozen && before.Quiet.IsZero() { // a ledger that may have forgotten budgets gets them back from runs
			return ledger.Change{Name: name, Kind: "thaw"}, errUnchanged
		}
		return l.Thaw(ctx, name, ledger.Note{Who: run.Who()})
	}, nil
}
