//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// ghz is https://github.com/bojand/ghz: a closed loop over gRPC, with the library of gRPC.
func ghz(protoFile string) tool {
	return tool{
		name: "ghz", program: "ghz", needs: "go install github.com/bojand/ghz/cmd/ghz@v0.121.0",
		ask: []string{"--version"}, found: regexp.MustCompile(`(\d[\d.]+)`),
		args: func(l load) []string {
			return []string{"--insecure", "--proto", protoFile, "--call", strings.ReplaceAll(greeterMethod[1:], "/", "."), "-d", greeting,
				"-c", fmt.Sprint(l.connections * max(1, l.streams)), "--connections", fmt.Sprint(l.connections),
				"-z", fmt.Sprintf("%ds", l.seconds()), "-O", "json", strings.TrimSuffix(strings.TrimPrefix(l.url, "http://"), "/")}
		},
		read: readGHZ,
	}
}

// readGHZ reads the JSON that ghz prints. Its percentiles are those of the first million calls.
func readGHZ(output []byte) (claim, error) {
	var said struct {
		Count        int64 `json:"count"`
		Distribution []struct {
			Percentage int           `json:"percentage"`
			Latency    time.Duration `json:"latency"`
		} `json:"latencyDistribution"`
	}
	if err := json.Unmarshal(output, &said); err != nil {
		return claim{}, fmt.Errorf("read the output of ghz: %w", err)
	}
	if said.Count == 0 {
		return claim{}, unread("ghz", "number of calls")
	}
	c := claim{requests: said.Count}
	for _, d := range said.Distribution {
		for p, into := range map[int]*time.Duration{50: &c.p50, 90: &c.p90, 99: &c.p99} {
			if p == d.Percentage {
				*into = d.Latency
			}
		}
	}
	return c, nil
}
