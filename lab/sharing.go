//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/internal/proof/evenness"
)

// sharing lets more and more processes send one rate together.
func sharing(ctx context.Context, b *bench, s *section) error {
	length, warm := b.lasting(4*time.Second, time.Second)
	const rate = 20_000
	team := func(name string, processes int, embedded bool, flags ...string) contender[*outcome] {
		p := product{embedded: embedded, flags: flags}
		return contender[*outcome]{name, func(ctx context.Context) (*outcome, error) {
			return b.team(ctx, s, name, processes, p, load{connections: max(1, 64/processes), rate: rate, length: length}, warm)
		}}
	}
	rounds := b.rounds
	if !b.quick {
		rounds = max(rounds, 9) // the figures compared here differ by little
	}
	s.heading("%s requests a second in all, 64 connections in all, all processes on one core", thousands(rate))
	got, err := contend(ctx, b, s, rounds, []contender[*outcome]{
		team("1 process, embedded", 1, true), team(one, 1, false), team("4 processes", 4, false), team("16 processes", 16, false),
		team(one+", precise", 1, false, "--pace-resolution", "precise"), team("4 processes, precise", 4, false, "--pace-resolution", "precise"),
	})
	if err != nil {
		return err
	}
	teamTable(s, got)
	many := paired(got.take("16 processes"), got.take(one), (*outcome).micros)
	s.atMost(fmt.Sprintf("16 processes, CPU a request to that of 1, with Redis, median of %d pairs", len(many)), many.median(), 1.2, "%.2f")
	for _, pacing := range []string{"", ", precise"} {
		for _, cost := range []struct {
			what string
			of   func(*outcome) float64
		}{{"with Redis", (*outcome).micros}, {"without Redis", (*outcome).clientMicros}} {
			pairs := paired(got.take("4 processes"+pacing), got.take(one+pacing), cost.of)
			s.atMost(fmt.Sprintf("4 processes%s, CPU a request to that of 1, %s, median of %d pairs", pacing, cost.what, len(pairs)), pairs.median(), 1.1, "%.2f")
		}
	}
	return nil
}

// paired returns the ratio of the costs of a request, round by round. Either both contenders have a turn in each
// round, or one has none.
func paired(some, others []*outcome, cost func(*outcome) float64) values {
	pairs := make(values, 0, len(some))
	for i := range min(len(some), len(others)) {
		pairs = append(pairs, cost(some[i])/cost(others[i]))
	}
	return pairs
}

// team lets several workers fire together.
func (b *bench) team(ctx context.Context, s *section, name string, processes int, p product, l load, warm time.Duration) (*outcome, error) {
	l.name = b.next()
	p.flags = append(slices.Clone(p.flags), "--min-workers", fmt.Sprint(processes))
	worker := p.tool(b)
	example := l
	example.url, example.name = "URL", "NAME"
	s.command(name, b.neutral(append([]string{worker.program}, worker.args(example)...)))
	o, err := fire(ctx, trial{
		length: l.length, warm: warm, redis: worker.redis,
		clients: func(address string) ([][]string, error) {
			l.url = "http://" + address + "/"
			all := make([][]string, processes)
			for i := range all {
				all[i] = worker.command(l)
			}
			return all, nil
		},
	})
	if err != nil {
		return nil, err
	}
	if _, err := worker.claimed(o); err != nil { // the report covers the whole fleet
		return nil, err
	}
	if asked := int(float64(l.rate) * l.length.Seconds()); len(o.times) > asked {
		return nil, fmt.Errorf("%d requests arrived of %d", len(o.times), asked)
	}
	return o, nil
}

// arrived returns the share of the requested slots that arrived. A fleet that sends too little gives worthless
// figures.
func arrived(o *outcome, l load) float64 {
	return float64(len(o.times)) / (float64(l.rate) * l.length.Seconds())
}

// one is the contender that the others of a table are compared with.
const one = "1 process"

// teamTable writes the table. It compares with one process if that took part.
func teamTable(s *section, rounds contest[*outcome]) {
	var rows [][]string
	for _, r := range rounds {
		rows = append(rows, []string{
			r.name, spannedThousands(of(r.turns, func(o *outcome) float64 { return float64(len(o.times)) })),
			spanned(of(r.turns, (*outcome).clientShare), "%.1f"),
			fmt.Sprintf("%.1f", of(r.turns, (*outcome).micros).median()), times(ratio(rounds, (*outcome).micros, r.name, one)),
			spanned(of(r.turns, (*outcome).redisShare), "%.2f"),
			fmt.Sprintf("%.0f", of(r.turns, func(o *outcome) float64 { return float64(o.calls) / o.took.Seconds() }).median()),
			fmt.Sprintf("%.1f", of(r.turns, func(o *outcome) float64 { return 100 * evenness.Spread(o.window, 10*time.Millisecond) }).median()),
			fmt.Sprintf("%.0f", of(r.turns, (*outcome).mebibytes).median()),
		})
	}
	s.table([]string{"", "requests that arrived", "client CPU, %, in all", "CPU, µs a request, with Redis", "to " + one, "Redis CPU, %",
		"scripts run/s", "deviation in 10 ms, %", "peak memory, MiB, in all"}, rows)
}
