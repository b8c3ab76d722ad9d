//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/proof/evenness"
	"github.com/loadctl/loadctl/lab/plot"
)

// A paced is a shot at a rate, with how late its requests arrived.
type paced struct {
	shot
	late []int64 // lateness against the ideal schedule, ns, sorted
}

func (p paced) in(window time.Duration) float64 { return 100 * evenness.Spread(p.window, window) }
func (p paced) in10() float64                   { return p.in(10 * time.Millisecond) }
func (p paced) in100() float64                  { return p.in(100 * time.Millisecond) }
func (p paced) gaps() float64                   { return evenness.GapVariation(p.window) }
func (p paced) errorPercent() float64           { return 100 * p.excess() }
func (p paced) missed() float64                 { return math.Abs(p.errorPercent()) }
func (p paced) p50() float64                    { return p.lateness(0.5) }
func (p paced) p99() float64                    { return p.lateness(0.99) }
func (p paced) worst() float64                  { return p.lateness(1) }

// lateness returns a quantile of the lateness, in µs.
func (p paced) lateness(q float64) float64 {
	if len(p.late) == 0 {
		return math.NaN()
	}
	return float64(p.late[int(q*float64(len(p.late)-1))]) / 1e3
}

// rates asks each tool for a rate. The endpoint shows how well it keeps to it.
func rates(ctx context.Context, b *bench, s *section) error {
	resolution := func(name string) tool {
		return product{variant: name, flags: []string{"--pace-resolution", name}}.tool(b)
	}
	precise, auto, economical := resolution("precise"), resolution("auto"), resolution("economical")
	floor, err := spinning()
	if err != nil {
		return err
	}
	length, warm := b.lasting(4*time.Second, time.Second)
	for _, at := range []struct {
		rate int
		ours []tool
	}{
		{1_000, []tool{precise, auto}},
		{10_000, []tool{precise, auto, economical}},
		{50_000, []tool{auto, economical}},
	} {
		s.heading("%s requests a second, 64 connections", thousands(float64(at.rate)))
		l := load{connections: 64, rate: at.rate, length: length}
		shooters := b.shooters(s, slices.Concat(withFortio(b, "-uniform"), at.ours, []tool{floor}), l, endpointOptions{stamped: true}, warm)
		rounds, err := contend(ctx, b, s, b.rounds, pacing(shooters, at.rate))
		if err != nil {
			return err
		}
		rateTable(s, rounds)
		rateGoals(s, rounds, at.rate, precise.name, economical.name)
		if at.rate == 10_000 {
			ratePlots(s, rounds)
		}
	}
	return nil
}

// pacing adds to each shot how late its requests arrived.
func pacing(shooters []contender[shot], rate int) []contender[paced] {
	var all []contender[paced]
	for _, c := range shooters {
		all = append(all, contender[paced]{c.name, func(ctx context.Context) (paced, error) {
			got, err := c.turn(ctx)
			if err != nil {
				return paced{}, err
			}
			return paced{got, evenness.Lateness(got.window, float64(rate))}, nil
		}})
	}
	return all
}

func rateTable(s *section, rounds contest[paced]) {
	var rows [][]string
	for _, r := range rounds {
		median := func(figure func(paced) float64, format string) string {
			return fmt.Sprintf(format, of(r.turns, figure).median())
		}
		rows = append(rows, []string{
			r.name, spanned(of(r.turns, paced.errorPercent), "%.3f"), spanned(of(r.turns, paced.clientShare), "%.0f"),
			median(paced.mebibytes, "%.0f"),
			median(paced.in10, "%.1f"), median(paced.in100, "%.1f"), median(paced.gaps, "%.2f"),
			thousands(of(r.turns, paced.p50).median()), thousands(of(r.turns, paced.p99).median()), thousands(of(r.turns, paced.worst).median()),
		})
	}
	s.table([]string{"", "error, %", "client CPU, %", "peak memory, MiB", "deviation in 10 ms, %", "in 100 ms, %", "variation of gaps",
		"late, µs: p50", "p99", "max"}, rows)
}

func rateGoals(s *section, rounds contest[paced], rate int, precise, economical string) {
	figure := func(name string, of1 func(paced) float64) float64 { return of(rounds.take(name), of1).median() }
	at := fmt.Sprintf(" at %s/s", thousands(float64(rate)))
	if rate < 50_000 {
		s.atMost(precise+at+", late p50, µs", figure(precise, paced.p50), 90, "%.0f")
		s.atMost(precise+at+", late p99, µs", figure(precise, paced.p99), 250, "%.0f")
		s.atMost(precise+at+", variation of gaps", figure(precise, paced.gaps), map[int]float64{1_000: 0.15, 10_000: 0.6}[rate], "%.2f")
	}
	if rate < 10_000 {
		return
	}
	// CPU time is compared for each request: a tool that sends less must not look cheaper.
	s.atMost(economical+at+", CPU a request to fortio's", ratio(rounds, paced.micros, economical, "fortio"),
		map[int]float64{10_000: 1.3, 50_000: 1}[rate], "%.2f")
	if rate == 50_000 {
		_, worst := of(rounds.take(economical), paced.missed).span()
		s.atMost(economical+at+", error in the worst round, %", worst, 0.01, "%.3f")
		_, most := of(rounds.take(economical), paced.mebibytes).span()
		s.atMost(economical+at+", most memory, MiB", most, 40, "%.0f")
	}
}

// ratePlots draws, for each tool, the round with the median lateness.
func ratePlots(s *section, rounds contest[paced]) {
	var late, gaps []plot.Curve
	for _, r := range rounds {
		p := typical(r.turns, paced.p50)
		if len(p.window) < 2 {
			continue
		}
		late = append(late, plot.Curve{Name: r.name, Values: micros(p.late)})
		gaps = append(gaps, plot.Curve{Name: r.name, Values: micros(evenness.Gaps(p.window))})
	}
	if len(late) > 0 {
		s.plot("lateness.svg", plot.Distribution("How late requests arrive, 10,000 a second", late), "How late requests arrive")
		s.plot("gaps.svg", plot.Distribution("Time between two arrivals, 10,000 a second (ideal: all at 100 µs)", gaps), "Time between two arrivals")
	}
}

// micros converts sorted ns into µs for a plot. Plots need positive values.
func micros(ns []int64) []float64 {
	us := make([]float64, len(ns))
	for i, n := range ns {
		us[i] = max(1, float64(n)) / 1e3
	}
	return us
}
