package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/arrivals"
	"github.com/loadctl/loadctl/internal/cli"
)

// stalls are the values of --stall.
type stalls []stall

// A stall holds back all answers for length, from so long after the first arrival.
type stall struct{ at, length time.Duration }

// String implements pflag.Value.
func (s *stalls) String() string {
	var all []string
	for _, stall := range *s {
		all = append(all, fmt.Sprintf("%v:%v", stall.at, stall.length))
	}
	return strings.Join(all, ",")
}

// Type implements pflag.Value.
func (s *stalls) Type() string { return "stall" }

// Set implements pflag.Value: it adds one.
func (s *stalls) Set(text string) error {
	from, long, ok := strings.Cut(text, ":")
	at, err := cli.ParseDuration(from)
	length, errLength := cli.ParseDuration(long)
	if !ok || err != nil || errLength != nil || max(at, length) > longestWait {
		return fmt.Errorf("%.40q: write AT:LENGTH, such as 10s:2s, each at most 365d", text)
	}
	*s = append(*s, stall{at, length})
	return nil
}

// schedule makes the server stall as planned, until ctx ends.
func (s *stalls) schedule(ctx context.Context, server *arrivals.Server) {
	select {
	case <-server.FirstArrival():
	case <-ctx.Done():
		return
	}
	first := time.Now()
	slices.SortFunc(*s, func(a, b stall) int { return cmp.Compare(a.at, b.at) })
	for _, stall := range *s {
		select {
		case <-time.After(time.Until(first.Add(stall.at))):
			server.Stall(time.Until(first.Add(stall.at + stall.length)))
		case <-ctx.Done():
			return
		}
	}
}
