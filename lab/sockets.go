//go:build linux

package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// sockets lets loadworker send as fast as it can over other protocols than HTTP, beside tools that speak them too.
func sockets(ctx context.Context, b *bench, s *section) error {
	length, warm := b.lasting(3*time.Second, time.Second)
	var table [][]string
	for _, p := range []struct {
		speaks, name string
		flags        []string
		peer         *tool
		least        float64 // of requests to the peer's, for each second of the core
	}{
		{speakMessages, "WebSocket", []string{"-d", line, "--reply", "any"}, messenger(b), 5},
		{speakLines, "TCP", []string{"-d", line + "\n", "--reply", `until \n`}, nil, 0},
		{speakDatagrams, "UDP", []string{"-d", line, "--reply", "any"}, nil, 0},
		{speakRedis, "Redis", []string{"-d", "PING"}, redisBenchmark(), 1},
	} {
		ours := product{variant: p.name, qps: "max", closed: true, flags: p.flags}.tool(b)
		tools := []tool{ours}
		if p.peer != nil {
			if err := p.peer.locate(ctx); err != nil {
				s.fail(p.peer.name, err)
			} else {
				tools = append(tools, *p.peer)
			}
		}
		l := load{connections: 64, length: length}
		rounds, err := contend(ctx, b, s, b.rounds, b.shooters(s, tools, l, endpointOptions{speaks: p.speaks}, warm))
		if err != nil {
			return err
		}
		for _, r := range rounds {
			table = append(table, []string{r.name, spannedThousands(of(r.turns, shot.perSecond)), spanned(of(r.turns, shot.micros), "%.1f"),
				spanned(of(r.turns, shot.mebibytes), "%.0f"), fmt.Sprintf("%.0f / %.0f", of(r.turns, shot.clientShare).median(), of(r.turns, shot.endpointShare).median())})
		}
		if p.peer != nil {
			s.atLeast(fmt.Sprintf("%s, requests per core to those of %s", ours.name, p.peer.name),
				pairedShots(rounds.take(p.peer.name), rounds.take(ours.name)).median(), p.least, "%.2f")
		}
	}
	s.table([]string{"", "requests/s", "CPU, µs a request", "peak memory, MiB", "busy, %: client / endpoint"}, table)
	return nil
}

// messenger is k6 with WebSockets, in its fastest form.
func messenger(b *bench) *tool {
	t := k6(b)
	t.name = "k6, WebSocket"
	t.args = func(l load) []string {
		return []string{"run", "-q", "-e", "URL=" + l.url, "-e", fmt.Sprint("VUS=", l.connections), "-e", fmt.Sprint("SECONDS=", l.seconds()), b.file("k6ws.js")}
	}
	return &t
}

// redisBenchmark is the tool of Redis itself. It takes a number of requests and no time, so it gets more than it can send.
func redisBenchmark() *tool {
	return &tool{
		name: "redis-benchmark", program: "redis-benchmark", needs: "apt-get install redis-tools",
		ask: []string{"--version"}, found: regexp.MustCompile(`redis-benchmark ([\d.]+)`),
		args: func(l load) []string {
			host, port, _ := strings.Cut(strings.Trim(strings.TrimPrefix(l.url, "redis://"), "/"), ":")
			return []string{"-h", host, "-p", port, "-c", strconv.Itoa(l.connections), "-n", strconv.Itoa(l.seconds() * 150_000), "-P", "1", "-t", "ping_mbulk", "-q"}
		},
		read: func(output []byte) (claim, error) {
			m := regexp.MustCompile(`PING_MBULK: ([\d.]+) requests per second`).FindSubmatch(output)
			if m == nil {
				return claim{}, unread("redis-benchmark", "rate")
			}
			perSecond, err := strconv.ParseFloat(string(m[1]), 64)
			return claim{requests: int64(perSecond)}, err // the caller looks at arrivals
		},
	}
}
