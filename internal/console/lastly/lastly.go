// Package lastly does what must not be left out when a process ends at once: by a second Ctrl-C, no deferred call runs.
//
//	ctx, end := lastly.With(ctx)
//	undo := lastly.Do(ctx, giveTerminalBack) // somewhere below
//	defer undo()
//	end() // before os.Exit
//
// It is safe for concurrent use.
package lastly

import (
	"context"
	"sync"
)

// exitHooks are the functions that are still to be called.
type exitHooks struct {
	mu   sync.Mutex
	next int
	all  map[int]func()
}

type key struct{}

// With returns a context that Do accepts. end calls all functions that Do was given, in any order; each only once.
func With(ctx context.Context) (_ context.Context, end func()) {
	d := &exitHooks{all: map[int]func(){}}
	return context.WithValue(ctx, key{}, d), d.end
}

// Do remembers a function for the end of the process, until undo. Without With it does nothing.
func Do(ctx context.Context, f func()) (undo func()) {
	d, ok := ctx.Value(key{}).(*exitHooks)
	if !ok {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	mine := d.next
	d.next++
	d.all[mine] = f
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.all, mine)
	}
}

func (d *exitHooks) end() {
	d.mu.Lock()
	all := d.all
	d.all = map[int]func(){}
	d.mu.Unlock()
	for _, f := range all {
		f()
	}
}
