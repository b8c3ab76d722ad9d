// Package run is a run's state in Redis: its members, laws, commands and events.
//
//	r, created, err := run.Create(ctx, client, "checkout", asked, run.Options{})
//	_, err = r.SetRate(ctx, pacer.PerSecond(500), 0)
//	state, err := r.State(ctx)
//
// There is no controller. All state is in Redis, every change is one script, and any process may go on where another
// one was killed. A name is one run, once. A uid distinguishes a run from a later one of the same name.
package run
