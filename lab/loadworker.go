//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// A product is this project's own worker as a user starts it: it renews, records, publishes and reports.
type product struct {
	variant  string // follows its name in the tables
	embedded bool   // with an embedded Redis; else with the benchmark's Redis
	qps      string // replaces the rate of the load
	closed   bool   // requests in flight are limited to the number of connections, so none waits for one
	flags    []string
	grpc     string // path of the method, if the load is calls
}

// tool returns it as a load generator like the others.
func (p product) tool(b *bench) tool {
	name := "loadworker"
	if p.variant != "" {
		name += ", " + p.variant
	}
	server := b.redis
	if p.embedded {
		server = nil
	}
	return tool{
		name: name, program: "loadworker", path: b.built("loadworker"),
		ask: []string{"version"}, found: regexp.MustCompile(`^\S+ (\S+)`),
		args:  func(l load) []string { return p.args(b, l) },
		read:  readWorker,
		exact: true, redis: server,
	}
}

func (p product) args(b *bench, l load) []string {
	server, qps := b.redis.url(), p.qps
	if p.embedded {
		server = "embedded:0"
	}
	if qps == "" {
		qps = fmt.Sprint(l.rate)
	}
	args := []string{"run", "--redis", server, "--run", l.name, "--qps", qps, "--duration", l.length.String(),
		"--max-connections", fmt.Sprint(l.connections)}
	if l.url != "" {
		args = append(args, "--url", p.target(l.url))
	}
	if p.closed {
		args = append(args, "-c", fmt.Sprint(l.connections*max(1, l.streams)))
	}
	switch {
	case p.grpc != "":
		args = append(args, "--streams", fmt.Sprint(max(1, l.streams)))
	case l.streams > 0:
		args = append(args, "--http", "2", "--streams", fmt.Sprint(l.streams))
	}
	if strings.HasPrefix(l.url, "https:") {
		args = append(args, "-k")
	}
	return append(append(args, p.flags...), "-o", "json")
}

// target returns the URL for that of the endpoint.
func (p product) target(url string) string {
	if p.grpc != "" {
		return "grpc://" + strings.Trim(strings.TrimPrefix(url, "http:"), "/") + p.grpc
	}
	return url
}

// readWorker reads the report.
func readWorker(output []byte) (claim, error) {
	var said struct {
		Audit struct {
			Sent int64 `json:"sent"`
		} `json:"audit"`
		Errors struct {
			Canceled int64 `json:"canceled"`
		} `json:"errors"`
		Latency struct {
			P50 int64 `json:"p50"`
			P90 int64 `json:"p90"`
			P99 int64 `json:"p99"`
		} `json:"latency_ns"`
	}
	if err := json.Unmarshal(output, &said); err != nil {
		return claim{}, fmt.Errorf("read the report of loadworker: %w", err)
	}
	if said.Audit.Sent == 0 {
		return claim{}, unread("loadworker", "number of requests")
	}
	l := said.Latency
	// Requests whose connection is still being opened at the end of the run are canceled. None of their bytes leaves.
	return claim{said.Audit.Sent - said.Errors.Canceled, time.Duration(l.P50), time.Duration(l.P90), time.Duration(l.P99)}, nil
}
