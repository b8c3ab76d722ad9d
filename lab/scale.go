//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// scale measures the load of fleets of thousands on Redis, how soon they receive a command, and how long reading their
// run takes.
func scale(ctx context.Context, b *bench, s *section) error {
	const rate = 10_000
	sizes := []struct {
		workers int
		silent  bool
	}{{1000, false}, {3000, true}, {10_000, true}} // a core encodes only some 2,000 snapshots a second
	if b.quick {
		sizes = sizes[:1]
		sizes[0].workers = 20
	}
	s.heading("%s requests a second in all; the workers and loadctl are on core 1, Redis is alone on core 0", thousands(rate))
	var all []contender[thronged]
	for _, n := range sizes {
		name := thousands(float64(n.workers)) + " workers"
		if n.silent {
			name += silently
		}
		all = append(all, contender[thronged]{name, func(ctx context.Context) (thronged, error) { return b.throng(ctx, n.workers, n.silent, rate) }})
	}
	got, err := contend(ctx, b, s, min(b.rounds, 3), all)
	if err != nil {
		return err
	}
	scaleTables(s, got)
	for _, g := range []struct {
		what   string
		of     func(thronged) float64
		limits [2]float64 // for 1,000 and for 10,000 workers
		format string
	}{
		{"Redis CPU, % of a core", func(t thronged) float64 { return t.share() }, [2]float64{25, 100}, "%.1f"},
		{"set-rate: the last worker has it after, ms", func(t thronged) float64 { return 1e3 * t.SetRate }, [2]float64{75, 500}, "%.0f"},
		{"pause: the last worker has it after, ms", func(t thronged) float64 { return 1e3 * t.Pause }, [2]float64{75, 500}, "%.0f"},
		{"loadctl status, s", func(t thronged) float64 { return t.Status }, [2]float64{0.2, 1}, "%.2f"},
		{"loadctl watch begins, s", func(t thronged) float64 { return t.Watch }, [2]float64{0.2, 1}, "%.2f"},
		{"Redis memory, MB", func(t thronged) float64 { return t.Memory }, [2]float64{60, 1000}, "%.0f"},
		{"slots skipped", thronged.skipped, [2]float64{0, 0}, "%.0f"},
	} {
		for i, name := range []string{"1,000 workers", "10,000 workers" + silently} {
			s.atMost(name+": "+g.what, of(got.take(name), g.of).median(), g.limits[i], g.format)
		}
	}
	return nil
}

// silently is added to the names of fleets that publish no snapshots.
const silently = " that publish nothing"

// skipped returns how many slots were skipped while the fleet ran undisturbed.
func (t thronged) skipped() float64 { return float64(t.Steady.Skipped) }

func scaleTables(s *section, got contest[thronged]) {
	var calls, times [][]string
	for _, r := range got {
		figure := func(format string, f func(thronged) float64) string { return spanned(of(r.turns, f), format) }
		calls = append(calls, []string{
			r.name, figure("%.0f", func(t thronged) float64 { return t.renewals() }), figure("%.0f", func(t thronged) float64 { return t.snapshots() }),
			figure("%.1f", func(t thronged) float64 { return t.share() }), figure("%.0f", func(t thronged) float64 { return 1e6 * t.CPU / t.calls() }),
			figure("%.0f", func(t thronged) float64 { return t.Memory }),
			figure("%.0f", thronged.skipped),
		})
		times = append(times, []string{
			r.name, figure("%.1f", func(t thronged) float64 { return t.Begins }),
			figure("%.3f", func(t thronged) float64 { return t.SetRate }), figure("%.3f", func(t thronged) float64 { return t.Pause }),
			figure("%.2f", func(t thronged) float64 { return t.Stop }), figure("%.1f", func(t thronged) float64 { return t.Frozen }),
			figure("%.2f", func(t thronged) float64 { return t.Status }), figure("%.2f", func(t thronged) float64 { return t.Watch }),
			figure("%.2f", func(t thronged) float64 { return t.Report }),
		})
	}
	s.table([]string{"", "renewals/s", "snapshots/s", "Redis CPU, %", "µs a call", "Redis memory, MB", "slots skipped"}, calls)
	s.note("Times in seconds. After `set-rate` and `pause` the last worker has received it; after `stop` each has confirmed it. The outage is one of a second; " +
		"it is over when each worker was answered again.")
	s.table([]string{"", "all have joined", "set-rate", "pause", "stop", "outage", "`status`", "`watch`", "`report`"}, times)
}

// throng runs the process with thousands of workers, with a Redis of its own.
func (b *bench) throng(ctx context.Context, workers int, silent bool, rate int) (t thronged, err error) {
	path, err := self()
	if err != nil {
		return t, err
	}
	redis, err := startRedis(ctx, b.dir)
	if err != nil {
		return t, err
	}
	defer redis.stop()
	length, warm := b.lasting(10*time.Second, 5*time.Second)
	length += warm + margin(length) // the measuring window is then as long as asked for
	p, err := spawn(clientCore, []string{path, "throng", "-redis", redis.url(), "-server", strconv.Itoa(redis.pid()), "-workers", strconv.Itoa(workers),
		"-rate", strconv.Itoa(rate), fmt.Sprintf("-silent=%v", silent), "-for", length.String(), "-warm", warm.String(), "-loadctl", b.built("loadctl")}, nil)
	if err != nil {
		return t, err
	}
	if err := p.await(ctx, length+5*time.Minute); err != nil {
		return t, err
	}
	if err := json.Unmarshal(p.stdout.Bytes(), &t); err != nil {
		return t, fmt.Errorf("read what the workers cost: %w", err)
	}
	return t, nil
}
