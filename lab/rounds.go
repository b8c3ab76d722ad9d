//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A contender is one row of a table. It takes a turn in each round.
type contender[T any] struct {
	name string
	turn func(ctx context.Context) (T, error)
}

// A row holds the results of a contender, one for each round.
type row[T any] struct {
	name  string
	turns []T
}

// A contest holds the rows of all contenders that did not fail, in the given order.
type contest[T any] []row[T]

// take returns the turns of a contender; none if it is not there.
func (c contest[T]) take(name string) []T {
	for _, r := range c {
		if r.name == name {
			return r.turns
		}
	}
	return nil
}

// ratio returns the ratio of two contenders' medians; NaN if one of them is not there.
func ratio[T any](rounds contest[T], figure func(T) float64, of1, to string) float64 {
	return of(rounds.take(of1), figure).median() / of(rounds.take(to), figure).median()
}

// contend gives each contender a turn in each round, A B A B. A contender that fails takes no more turns, and the
// section says why.
func contend[T any](ctx context.Context, b *bench, s *section, rounds int, all []contender[T]) (contest[T], error) {
	var rows contest[T]
	for _, c := range all {
		rows = append(rows, row[T]{name: c.name})
	}
	failed := make([]bool, len(all))
	began := readTicks()
	for round := range rounds {
		for i, c := range all {
			if failed[i] {
				continue
			}
			got, err := c.turn(ctx)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				failed[i] = true
				s.fail(c.name, err)
				b.say("%s: %s: %v", s.name, c.name, err)
				continue
			}
			rows[i].turns = append(rows[i].turns, got)
		}
		now := readTicks()
		s.steal = append(s.steal, began.steal(now))
		began = now
		b.say("%s: round %d of %d", s.name, round+1, rounds)
	}
	var through contest[T]
	for i, r := range rows {
		if !failed[i] {
			through = append(through, r)
		}
	}
	return through, nil
}

// A shot is a trial of one tool, with what the tool reported of it.
type shot struct {
	*outcome
	claim
	tool tool
	load load
}

// excess returns by how much the arrivals exceeded what was asked for, as a share of the latter.
func (s shot) excess() float64 {
	asked := float64(s.load.rate) * s.load.length.Seconds()
	return float64(len(s.times)-s.tool.warmup*s.load.connections)/asked - 1
}

// shoot lets one process of a tool fire. It returns an error if the tool cannot produce the load, or if an exact tool
// reports another number of requests than arrived.
func (b *bench) shoot(ctx context.Context, t tool, l load, endpoint endpointOptions, warm time.Duration) (shot, error) {
	l.name = b.next()
	scheme := "http://"
	switch {
	case endpoint.tls:
		scheme = "https://"
	case endpoint.speaks != "" && endpoint.speaks != speakEvents:
		scheme = endpoint.speaks + "://"
	}
	o, err := fire(ctx, trial{
		endpoint: endpoint, length: l.length, warm: warm, redis: t.redis,
		clients: func(address string) ([][]string, error) {
			l.url = scheme + address + "/"
			argv := t.command(l)
			if argv == nil {
				return nil, fmt.Errorf("%s cannot do this", t.name)
			}
			return [][]string{argv}, nil
		},
	})
	if err != nil {
		return shot{}, err
	}
	said, err := t.claimed(o)
	return shot{outcome: o, claim: said, tool: t, load: l}, err
}

// claimed returns what the tool reports of itself. It is an error if an exact tool reports another number of requests
// than arrived.
func (t tool) claimed(o *outcome) (claim, error) {
	said, err := t.read(o.outputs[0])
	if err == nil && t.exact && said.requests != int64(len(o.times)) {
		err = fmt.Errorf("it says that it sent %d requests, but %d arrived", said.requests, len(o.times))
	}
	return said, err
}

// shooters returns a contender for each tool that can produce the load.
func (b *bench) shooters(s *section, tools []tool, l load, endpoint endpointOptions, warm time.Duration) []contender[shot] {
	var all []contender[shot]
	for _, t := range tools {
		example := l
		example.url, example.name = "URL", "NAME"
		argv := t.command(example)
		if argv == nil {
			continue
		}
		s.command(t.name, b.neutral(append([]string{t.program}, argv[1:]...)))
		all = append(all, contender[shot]{t.name, func(ctx context.Context) (shot, error) { return b.shoot(ctx, t, l, endpoint, warm) }})
	}
	return all
}

// neutral returns a command line without what is specific to this machine.
func (b *bench) neutral(argv []string) string {
	return strings.NewReplacer(b.redis.url(), "REDIS", b.dir+"/", "", "\n", `\n`, "-h URL -p  ", "-h HOST -p PORT ").Replace(strings.Join(argv, " "))
}
