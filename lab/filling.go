//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// filling compares requests that are all the same with requests that are filled and checked, at saturation. The pairs
// have requests of the same length.
func filling(ctx context.Context, b *bench, s *section) error {
	rows := "id,name\n" + strings.Repeat("12345678,Ann\n", 10_000)
	file := b.file("rows.csv")
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		return err
	}
	headers := func(values ...string) (flags []string) {
		for i, v := range values {
			flags = append(flags, "-H", fmt.Sprintf("X-%d: %s", i, v))
		}
		return flags
	}
	static := headers("1234567", "0d5fbc92-7d0e-4a3b-8b36-5c8de8a2b1f4", "500")
	kinds := []struct {
		name  string
		flags []string
	}{
		{fixed, static},
		{"status checked", append(slices.Clone(static), "--check", "status 200")},
		{"three values", headers("${ordinal}", "${uuid}", "${random 100 999}")},
		{filled, append(headers("${ordinal}", "${uuid}", "${random 100 999}"), "--check", "status 200")},
		{"rows of a file, size checked", append(headers("${rows.id}", "${uuid}", "${rows.name}"), "--data", file+",pick=shuffle", "--check", "status 200", "--check", "size < 1MB")},
	}
	var tools []tool
	for _, k := range kinds {
		tools = append(tools, product{variant: k.name, qps: "max", closed: true, flags: k.flags}.tool(b))
	}
	length, warm := b.lasting(3*time.Second, 500*time.Millisecond)
	rounds := b.rounds
	if !b.quick {
		rounds = max(rounds, 9) // the figures compared here differ by little
	}
	got, err := contend(ctx, b, s, rounds, b.shooters(s, tools, load{connections: 64, length: length}, endpointOptions{}, warm))
	if err != nil {
		return err
	}
	base, table := "loadworker, "+fixed, [][]string(nil)
	for _, r := range got {
		table = append(table, []string{
			r.name, spannedThousands(of(r.turns, shot.perSecond)), spanned(of(r.turns, shot.micros), "%.2f"),
			times(pairedShots(r.turns, got.take(base)).median()),
		})
	}
	s.table([]string{"", "requests/s", "CPU, µs a request", "to " + fixed + ", median of pairs"}, table)
	s.atMost("three values and a check of the status, CPU a request to static", pairedShots(got.take("loadworker, "+filled), got.take(base)).median(), 1.15, "%.2f")
	return nil
}

// The contenders that the goal compares.
const (
	fixed  = "static"
	filled = "three values, status checked"
)

// pairedShots returns the ratio of the costs of a request, round by round.
func pairedShots(some, others []shot) values {
	pairs := make(values, 0, len(some))
	for i := range min(len(some), len(others)) {
		pairs = append(pairs, some[i].micros()/others[i].micros())
	}
	return pairs
}
