//go:build linux

package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

//go:embed k6*.js
var k6Scripts embed.FS

// k6 is https://github.com/grafana/k6: virtual users in JavaScript, optionally at a rate.
func k6(b *bench) tool {
	return tool{
		name: "k6", program: "k6", needs: "it is built by lab/tools/go.mod", path: b.built("k6"),
		ask: []string{"version"}, found: regexp.MustCompile(`v([\d.]+)`),
		args: func(l load) []string { return k6Args(b, l) },
		read: readK6,
	}
}

// k6Args returns the command line of k6, with one virtual user for each connection.
func k6Args(b *bench, l load) []string {
	return []string{"run", "-q", "-e", "URL=" + l.url, "-e", fmt.Sprint("VUS=", l.connections),
		"-e", fmt.Sprint("RATE=", l.rate), "-e", fmt.Sprint("SECONDS=", l.seconds()), b.file("k6.js")}
}

// readK6 reads the JSON that the script prints.
func readK6(output []byte) (claim, error) {
	var said struct {
		Requests struct {
			Count int64 `json:"count"`
		} `json:"requests"`
		Duration map[string]float64 `json:"duration_ms"`
	}
	if err := json.Unmarshal(output, &said); err != nil {
		return claim{}, fmt.Errorf("read the output of k6: %w", err)
	}
	if said.Requests.Count == 0 {
		return claim{}, unread("k6", "number of requests")
	}
	ms := func(name string) time.Duration { return time.Duration(said.Duration[name] * float64(time.Millisecond)) }
	return claim{requests: said.Requests.Count, p50: ms("p(50)"), p90: ms("p(90)"), p99: ms("p(99)")}, nil
}
