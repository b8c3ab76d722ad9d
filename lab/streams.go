//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// streams lets clients hold many answers that come in pieces, at a pace that the endpoint gives. All have the same load, so
// the CPU time of an event says how many streams a core can hold.
func streams(ctx context.Context, b *bench, s *section) error {
	length, warm := b.lasting(8*time.Second, 3*time.Second)
	ours := streamed(b)
	all, err := streamReaders(ctx, b, s, ours)
	if err != nil {
		return err
	}
	for _, c := range []struct{ streams, perSecond int }{{1000, 50}, {2000, 20}} {
		if b.quick {
			c.streams = min(c.streams, 100)
		}
		s.heading("%s streams with %d events a second each", thousands(float64(c.streams)), c.perSecond)
		tools := all
		if k6, ok := b.find("k6"); ok {
			tools = append(slices.Clone(all), wholeAnswers(b, k6, c.perSecond))
		}
		// An answer lasts a second, as those of language models do at least. The request is part of its cost.
		endpoint := endpointOptions{speaks: speakEvents, events: c.perSecond, gap: time.Second / time.Duration(c.perSecond)}
		rounds, err := contend(ctx, b, s, b.rounds, b.shooters(s, tools, load{connections: c.streams, length: length}, endpoint, warm))
		if err != nil {
			return err
		}
		perCore := func(s shot) float64 { return 1e6 / s.micros() / float64(c.perSecond) }
		streamsTable(s, rounds, perCore, ours.name)
		for _, goal := range []struct {
			to    string
			least float64
		}{{"aiohttp", 5}, {"net/http", 5}, {"epoll and recv alone", 0.8}} {
			s.atLeast(fmt.Sprintf("%s, streams per core with %d events a second to those of %s", ours.name, c.perSecond, goal.to),
				ratio(rounds, perCore, ours.name, goal.to), goal.least, "%.2f")
		}
	}
	return nil
}

// streamReaders returns the clients that see each event. It leaves out what others wrote if b has no such tools.
func streamReaders(ctx context.Context, b *bench, s *section, ours tool) ([]tool, error) {
	plain, err := plainStreams()
	if err != nil {
		return nil, err
	}
	bare, err := bareStreams()
	if err != nil {
		return nil, err
	}
	all := []tool{ours, bare, plain}
	if len(b.tools) == 0 {
		return all, nil
	}
	python, err := aiohttp(ctx, b)
	if err != nil {
		s.fail(python.name, err)
		return all, nil
	}
	return append(all, python), nil
}

// streamsTable adds a table of all contenders. perCore is how many streams a core can hold.
func streamsTable(s *section, rounds contest[shot], perCore func(shot) float64, ours string) {
	var table [][]string
	for _, r := range rounds {
		table = append(table, []string{
			r.name, spannedThousands(of(r.turns, shot.perSecond)), spanned(of(r.turns, shot.micros), "%.1f"),
			spannedThousands(of(r.turns, perCore)), times(ratio(rounds, perCore, ours, r.name)), spanned(of(r.turns, shot.mebibytes), "%.0f"),
			fmt.Sprintf("%.0f / %.0f", of(r.turns, shot.clientShare).median(), of(r.turns, shot.endpointShare).median()),
		})
	}
	s.table([]string{"", "events/s", "CPU, µs an event", "streams a core", ours + " to it", "peak memory, MiB", "busy, %: client / endpoint"}, table)
}

// streamed is loadworker with as many answers at a time as there are connections. It reports as many events as were sent.
func streamed(b *bench) tool {
	t := product{qps: "max", closed: true, flags: []string{"--stream", "sse"}}.tool(b)
	t.read = func(output []byte) (claim, error) {
		var said struct {
			Streams struct {
				Events int64 `json:"events"`
			} `json:"streams"`
		}
		if err := json.Unmarshal(output, &said); err != nil {
			return claim{}, fmt.Errorf("read the report of loadworker: %w", err)
		}
		if said.Streams.Events == 0 {
			return claim{}, unread("loadworker", "number of events")
		}
		return claim{requests: said.Streams.Events}, nil
	}
	return t
}

// wholeAnswers is k6 without an extension: it reads the answers and sees no events, so it does less than the others.
func wholeAnswers(b *bench, t tool, events int) tool {
	t.name = "k6, whole answers"
	t.args = func(l load) []string {
		return []string{"run", "-q", "-e", "URL=" + l.url, "-e", fmt.Sprint("VUS=", l.connections), "-e", fmt.Sprint("SECONDS=", l.seconds()), b.file("k6sse.js")}
	}
	read := t.read
	t.read = func(output []byte) (claim, error) {
		c, err := read(output)
		c.requests *= int64(events)
		return c, err
	}
	return t
}
