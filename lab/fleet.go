//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer/lease"
)

// fleetRate is the rate of a whole fleet, in requests a second. It is low, so that nearly all of the cost is
// coordination.
const fleetRate = 500

// fleet measures what Redis does for workers that share a rate with default settings.
func fleet(ctx context.Context, b *bench, s *section) error {
	s.heading("%d requests a second in all; the workers are in one process on core 1, Redis is alone on core 0", fleetRate)
	if err := oneProcess(ctx, b, s); err != nil {
		return err
	}
	return hundred(ctx, b, s)
}

// oneProcess measures many workers in one process.
func oneProcess(ctx context.Context, b *bench, s *section) error {
	crowd := func(name string, flags ...string) contender[crowded] {
		return contender[crowded]{name, func(ctx context.Context) (crowded, error) { return b.crowd(ctx, flags) }}
	}
	const many = "100 workers"
	got, err := contend(ctx, b, s, b.rounds, []contender[crowded]{
		crowd("nobody", "-workers", "0"), crowd("1 worker", "-workers", "1"), crowd("10 workers", "-workers", "10"),
		crowd(many, "-workers", "100"), crowd("100 workers that publish nothing", "-workers", "100", "-silent"),
	})
	if err != nil {
		return err
	}
	var rows [][]string
	for _, r := range got {
		figure := func(format string, f func(crowded) float64) string { return spanned(of(r.turns, f), format) }
		idle := of(got.take("nobody"), crowded.share).median()
		rows = append(rows, []string{
			r.name, figure("%.0f", crowded.renewals), figure("%.0f", crowded.snapshots), figure("%.2f", crowded.share),
			figure("%.0f", func(c crowded) float64 { return c.each(idle) }), figure("%.0f", crowded.inside),
		})
	}
	s.table([]string{"", "renewals/s", "snapshots/s", "Redis CPU, %", "µs a call, less what nobody costs", "of it inside the script (by the clock)"}, rows)
	s.atMost("Redis CPU for 100 workers, % of a core", of(got.take(many), crowded.share).median(), 2, "%.2f")
	return nil
}

// hundred measures 100 processes that share the rate, if this machine can carry them. It gives no figures of a fleet
// that sends less than it was asked to, or renews at the wrong pace.
func hundred(ctx context.Context, b *bench, s *section) error {
	length, warm := b.lasting(20*time.Second, 8*time.Second)
	const workers = 100
	name := fmt.Sprint(workers, " processes")
	l := load{connections: 1, rate: fleetRate, length: length}
	s.heading("%d processes on core 1, %d requests a second in all; Redis and the endpoint on core 0", workers, fleetRate)
	got, err := contend(ctx, b, s, b.rounds, []contender[*outcome]{{name, func(ctx context.Context) (*outcome, error) {
		o, err := b.team(ctx, s, name, workers, product{}, l, warm)
		if err != nil {
			return nil, err
		}
		if share := arrived(o, l); share < 0.999 {
			return nil, fmt.Errorf("%.1f %% of the requests arrived: the machine cannot carry so many processes", 100*share)
		}
		return o, onTime(float64(o.calls)/o.took.Seconds(), workers, scripts(workers))
	}}})
	if err != nil || len(got) == 0 {
		return err
	}
	teamTable(s, got)
	return nil
}

// crowd runs the process with many workers.
func (b *bench) crowd(ctx context.Context, flags []string) (crowded, error) {
	path, err := self()
	if err != nil {
		return crowded{}, err
	}
	length, warm := b.lasting(10*time.Second, 3*time.Second)
	argv := append([]string{path, "crowd", "-redis", b.redis.url(), "-server", strconv.Itoa(b.redis.pid()), "-run", b.next(),
		"-for", length.String(), "-warm", warm.String()}, flags...)
	p, err := spawn(clientCore, argv, nil)
	if err != nil {
		return crowded{}, err
	}
	if err := p.await(ctx, length+endPatience); err != nil {
		return crowded{}, err
	}
	var c crowded
	if err := json.Unmarshal(p.stdout.Bytes(), &c); err != nil {
		return c, fmt.Errorf("read what the workers cost: %w", err)
	}
	if c.Workers == 0 || b.quick {
		return c, nil
	}
	return c, onTime(c.renewals(), c.Workers, renewing(c.Workers))
}

// A crowded is what a crowd's process reports of its measuring window.
type crowded struct {
	Workers   int     `json:"workers"`
	Seconds   float64 `json:"seconds"`
	CPU       float64 `json:"cpu"` // used by Redis, s
	Renewals  int64   `json:"renewals"`
	Snapshots int64   `json:"snapshots"`
	Inside    float64 `json:"inside"` // time spent in scripts, s by the clock
}

func (c crowded) renewals() float64  { return float64(c.Renewals) / c.Seconds }
func (c crowded) snapshots() float64 { return float64(c.Snapshots) / c.Seconds }
func (c crowded) share() float64     { return 100 * c.CPU / c.Seconds }
func (c crowded) calls() float64     { return float64(max(1, c.Renewals+c.Snapshots)) }
func (c crowded) inside() float64    { return 1e6 * c.Inside / c.calls() }

// each returns the CPU time of a call in µs. idle is the share of a core that Redis uses without workers, in %.
func (c crowded) each(idle float64) float64 {
	if c.Workers == 0 {
		return 0
	}
	return 1e6 * (c.CPU - idle/100*c.Seconds) / c.calls()
}

// renewing returns how many renewals a second these workers make with the default --permit-for.
func renewing(workers int) float64 {
	return float64(workers) * 1e6 / float64(lease.Period(int64(workers), spec.DefaultPermitFor.Microseconds()))
}

// scripts returns how many scripts a second these workers call: their renewals, and one snapshot each.
func scripts(workers int) float64 { return renewing(workers) + float64(workers) }

// onTime returns an error if calls were made at the wrong pace: round trips were long, or the machine was overloaded.
func onTime(perSecond float64, workers int, should float64) error {
	if perSecond < 0.93*should || perSecond > 1.07*should {
		return fmt.Errorf("%.0f calls/s of %d workers that should make %.0f: this machine has too much to do", perSecond, workers, should)
	}
	return nil
}
