package ui

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/orders"
	"github.com/loadctl/loadctl/internal/fleet/removal"
	"github.com/loadctl/loadctl/internal/fleet/rights"
	"github.com/loadctl/loadctl/internal/fleet/run"
)

// An order is the body of a command. Each command uses its own members.
type order struct {
	Rate  string `json:"rate"`
	Over  string `json:"over"`
	Force bool   `json:"force"`
}

// A command changes a run.
type command func(ctx context.Context, r *run.Run, q *http.Request, o order) (any, error)

// command serves a command to a run.
func (s *Server) command(do command) http.HandlerFunc {
	return controlled(s, func(q *http.Request, o order) (any, error) {
		r, err := s.hub.open(q.Context(), q.PathValue("run"))
		if err != nil {
			return nil, err
		}
		defer s.hub.wake(r.Name)
		return do(q.Context(), r, q, o)
	})
}

// controlled serves a request that changes something, if the server accepts commands from this client. Only this way a
// page changes anything. The body is an O.
func controlled[O any](s *Server, do func(q *http.Request, o O) (any, error)) http.HandlerFunc {
	return s.known(func(w http.ResponseWriter, q *http.Request) {
		if !s.Control {
			refuse(w, http.StatusForbidden, "this page is read-only; start loadctl ui with --control")
			return
		}
		var o O
		if status, why := readBody(w, q, &o); why != "" {
			refuse(w, status, why)
			return
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a stop takes as long as its workers need
		done, err := do(q, o)
		if err != nil {
			fail(w, err)
			return
		}
		answer(w, done)
	})
}

// setRate changes the rate of the whole cluster.
func setRate(ctx context.Context, r *run.Run, _ *http.Request, o order) (any, error) {
	to, err := orders.ParseRate(o.Rate, o.Over)
	if err != nil {
		return nil, bad(err)
	}
	if err := to.Fits(r); err != nil {
		return nil, bad(err)
	}
	if !o.Force {
		if err := orders.StayAt(ctx, r, to); err != nil {
			return nil, err
		}
	}
	return rights.Change(ctx, r, func() (run.Change, error) { return to.Give(ctx, r) })
}

// pause stops the schedule's clock.
func pause(ctx context.Context, r *run.Run, _ *http.Request, _ order) (any, error) {
	return r.Pause(ctx)
}

// resume goes on after a pause.
func resume(ctx context.Context, r *run.Run, _ *http.Request, _ order) (any, error) {
	return rights.Change(ctx, r, func() (run.Change, error) { return r.Resume(ctx) })
}

// stop ends a run. It answers when each worker has confirmed that.
func stop(ctx context.Context, r *run.Run, _ *http.Request, _ order) (any, error) {
	return r.Stop(ctx, nil)
}

// start begins a waiting run with the workers that have joined.
func start(ctx context.Context, r *run.Run, _ *http.Request, _ order) (any, error) {
	return rights.Change(ctx, r, func() (run.Change, error) { return r.Start(ctx) })
}

// remove declares that the process of a worker is dead. It answers with the worker as it is then.
func remove(ctx context.Context, r *run.Run, q *http.Request, o order) (any, error) {
	before, err := removal.Worker(ctx, r, q.PathValue("worker"), o.Force)
	if err != nil {
		return nil, err
	}
	s, err := r.State(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(s.Workers, func(w run.Worker) bool { return w.Incarnation != before.Incarnation }), nil
}
