package screen

import (
	"context"
	"fmt"
	"time"
)

// An Order is a command that a person gives to the run.
type Order struct {
	Command string // set-rate, pause, resume or stop
	Rate    string // of set-rate: the rate of the whole cluster in requests per second, as it was typed
	Over    string // of set-rate: a time, as it was typed; "" = at once
}

// mostOrders is how many commands may wait for the one before. More are refused.
const mostOrders = 16

// orderPatience is how long a command may take. A stop waits for workers, at most until their leases end.
const orderPatience = time.Minute

// order gives a command, after those that were given before.
func (s *Screen) order(o Order) {
	select {
	case s.orders <- o:
		s.show(o.Command+" …", false)
	default:
		s.show("Redis has not answered earlier commands, so this one was not given", true)
	}
}

// obey gives the commands, one after the other, until ctx ends.
func (s *Screen) obey(ctx context.Context) {
	for {
		select {
		case o := <-s.orders:
			said, err := s.give(ctx, o)
			if err != nil {
				said = err.Error()
			}
			s.show(said, err != nil)
		case <-ctx.Done():
			return
		}
	}
}

// give gives a command. A bug of it ends the screen, so that the terminal is given back before the process ends.
func (s *Screen) give(ctx context.Context, o Order) (string, error) {
	defer func() {
		if bug := recover(); bug != nil {
			s.fail(fmt.Errorf("%s: %v", o.Command, bug))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, orderPatience)
	defer cancel()
	return s.options.Give(ctx, o)
}

// show shows the answer to a command.
func (s *Screen) show(what string, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said, s.refused, s.saidAt = what, refused, time.Now()
}
