//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loadctl/loadctl/lab/plot"
)

// saturation lets each tool fire as fast as it can from one core.
func saturation(ctx context.Context, b *bench, s *section) error {
	fastest := product{variant: "max", qps: "max", closed: true}.tool(b)
	beyond := product{variant: "400k/s asked", qps: "400k", closed: true, flags: []string{"--max-lag", "1ms"}}.tool(b)
	tools := append(slices.Clone(b.tools), fastest, beyond, product{variant: "max, embedded", qps: "max", closed: true, embedded: true}.tool(b))
	if b.against != "" {
		tools = []tool{fastest, b.before(fastest)}
	}
	length, warm := b.lasting(3*time.Second, 500*time.Millisecond)
	for _, connections := range []int{64, 1024} {
		s.heading("%s connections", thousands(float64(connections)))
		l := load{connections: connections, length: length}
		rounds, err := contend(ctx, b, s, b.rounds, b.shooters(s, tools, l, endpointOptions{}, warm))
		if err != nil {
			return err
		}
		if b.against != "" {
			againstBefore(s, rounds, fastest.name)
			continue
		}
		saturationTable(s, rounds)
		if connections == 64 {
			saturationPlot(s, rounds)
			saturationGoals(s, rounds, fastest.name, beyond.name)
			continue
		}
		s.atLeast(fmt.Sprintf("%s at %d connections, requests/s to wrk's", fastest.name, connections),
			ratio(rounds, shot.perSecond, fastest.name, "wrk"), 1.1, "%.2f")
	}
	return nil
}

func saturationTable(s *section, rounds contest[shot]) { besides(s, rounds, "wrk") }

// besides adds a table of all contenders, with ratios to one of them.
func besides(s *section, rounds contest[shot], peer string) {
	var rows [][]string
	for _, r := range rounds {
		rows = append(rows, []string{
			r.name,
			spannedThousands(of(r.turns, shot.perSecond)), times(ratio(rounds, shot.perSecond, r.name, peer)),
			spanned(of(r.turns, shot.micros), "%.1f"), times(ratio(rounds, shot.micros, r.name, peer)),
			spanned(of(r.turns, shot.mebibytes), "%.0f"),
			fmt.Sprintf("%.0f / %.0f", of(r.turns, shot.clientShare).median(), of(r.turns, shot.endpointShare).median()),
		})
	}
	s.table([]string{"", "requests/s", "to " + peer, "CPU, µs a request", "to " + peer, "peak memory, MiB", "busy, %: client / endpoint"}, rows)
}

func saturationPlot(s *section, rounds contest[shot]) {
	var all []plot.Bar
	for _, r := range rounds {
		v := of(r.turns, shot.perSecond)
		low, high := v.span()
		all = append(all, plot.Bar{Name: r.name, Label: thousands(v.median()), Value: v.median(), Low: low, High: high})
	}
	if len(all) > 0 {
		s.plot("saturation.svg", plot.Bars("Requests a second from one core, 64 connections", all), "Requests a second from one core")
	}
}

func saturationGoals(s *section, rounds contest[shot], fastest, beyond string) {
	for _, g := range []struct {
		peer  string
		least float64
	}{{"wrk", 1.2}, {"fortio", 1.35}, {"hey", 5}, {"k6", 11}} {
		s.atLeast(fmt.Sprintf("%s, requests/s to %s's", fastest, g.peer), ratio(rounds, shot.perSecond, fastest, g.peer), g.least, "%.2f")
	}
	s.atMost(fastest+", CPU a request to wrk's", ratio(rounds, shot.micros, fastest, "wrk"), 0.85, "%.2f")
	s.atLeast(beyond+", requests/s to wrk's", ratio(rounds, shot.perSecond, beyond, "wrk"), 1.2, "%.2f")
}

// saturationTLS does the same with TLS. The endpoint is then slower than the clients, so only the CPU time of the
// clients is compared.
func saturationTLS(ctx context.Context, b *bench, s *section) error {
	ours := product{variant: "max", qps: "max", closed: true}.tool(b)
	length, warm := b.lasting(3*time.Second, time.Second)
	// ab is left out: this endpoint closes connections with HTTP/1.0.
	others := slices.DeleteFunc(slices.Clone(b.tools), func(t tool) bool { return t.name == "ab" })
	tools := append(others, ours)
	if b.against != "" {
		tools = []tool{ours, b.before(ours)}
	}
	l := load{connections: 64, length: length}
	rounds, err := contend(ctx, b, s, b.rounds, b.shooters(s, tools, l, endpointOptions{tls: true}, warm))
	if err != nil {
		return err
	}
	if b.against != "" {
		againstBefore(s, rounds, ours.name)
		return nil
	}
	saturationTable(s, rounds)
	perCore := func(s shot) float64 { return 1e6 / s.micros() }
	s.atLeast(ours.name+" with TLS, requests per second of its core to wrk's", ratio(rounds, perCore, ours.name, "wrk"), 1.15, "%.2f")
	s.atLeast(ours.name+" with TLS, requests per second of its core to hey's", ratio(rounds, perCore, ours.name, "hey"), 2, "%.2f")
	return nil
}
