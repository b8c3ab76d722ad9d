//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// fortio is https://github.com/fortio/fortio: a closed loop that sleeps when it is ahead of its rate.
func fortio(b *bench) tool {
	return tool{
		name: "fortio", program: "fortio", needs: "it is built by lab/tools/go.mod", path: b.built("fortio"),
		ask: []string{"version"}, found: regexp.MustCompile(`([\d.]+)`),
		args:   func(l load) []string { return fortioArgs(l) },
		read:   readFortio,
		warmup: 1,
	}
}

// withFortio returns the tools, with fortio a second time that has this option. -uniform spreads its connections over
// time; -nocatchup makes it drop the requests that it missed.
func withFortio(b *bench, option string) []tool {
	tools := slices.Clone(b.tools)
	if t, ok := b.find("fortio"); ok {
		t.name = "fortio " + option
		t.args = func(l load) []string { return fortioArgs(l, option) }
		tools = append(tools, t)
	}
	return tools
}

// fortioArgs returns the command line of fortio. Options come before the URL.
func fortioArgs(l load, options ...string) []string {
	args := []string{"load", "-quiet", "-k", "-json", "-", "-p", "50,90,99", "-qps", fmt.Sprint(l.rate), "-c", fmt.Sprint(l.connections),
		"-t", fmt.Sprintf("%ds", l.seconds())}
	return append(append(args, options...), l.url)
}

// readFortio reads the JSON that fortio prints.
func readFortio(output []byte) (claim, error) {
	var said struct {
		DurationHistogram struct {
			Count       int64
			Percentiles []struct{ Percentile, Value float64 }
		}
	}
	if err := json.Unmarshal(output, &said); err != nil {
		return claim{}, fmt.Errorf("read the output of fortio: %w", err)
	}
	c := claim{requests: said.DurationHistogram.Count}
	if c.requests == 0 {
		return c, unread("fortio", "number of requests")
	}
	for _, p := range said.DurationHistogram.Percentiles {
		for percent, into := range map[float64]*time.Duration{50: &c.p50, 90: &c.p90, 99: &c.p99} {
			if p.Percentile == percent {
				*into = time.Duration(p.Value * float64(time.Second))
			}
		}
	}
	return c, nil
}
