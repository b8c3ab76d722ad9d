// Package run is a run's state in Redis: its spec, budget, members, commands, snapshots and events.
//
//	client, err := run.Connect(ctx, "redis://127.0.0.1:6379")
//	r, created, err := run.Create(ctx, client, "checkout", spec, run.Options{})
//	_, err = r.SetRate(ctx, pacer.PerSecond(500), 0)
//	rep, err := r.Report(ctx)
//
// There is no controller. All state is in Redis, every change is one script, and any process may go on where another
// one was killed. A name is one run, once. A uid tells a run from a later one of the same name.
package run
