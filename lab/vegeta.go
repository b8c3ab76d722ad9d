//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"time"
)

// vegeta is https://github.com/tsenart/vegeta: targets from a file, here as fast as they go. Its results are in a file,
// and a second command reads them, after the trial.
func vegeta(b *bench, targets func(url string) string) tool {
	return tool{
		name: "vegeta", program: "vegeta", needs: "it is built by lab/tools/go.mod", path: b.built("vegeta"),
		ask: []string{"-version"}, found: regexp.MustCompile(`v?(\d[\d.]+)`),
		args: func(l load) []string {
			if l.rate > 0 {
				return nil
			}
			return []string{"attack", "-rate", "0", "-max-workers", fmt.Sprint(l.connections), "-workers", fmt.Sprint(l.connections), "-duration", l.length.String(),
				"-targets", targets(l.url), "-output", b.file("vegeta.bin")}
		},
		read: func([]byte) (claim, error) {
			output, err := exec.Command(b.built("vegeta"), "report", "-type", "json", b.file("vegeta.bin")).Output()
			if err != nil {
				return claim{}, fmt.Errorf("vegeta report: %w", err)
			}
			return readVegeta(output)
		},
	}
}

// readVegeta reads the JSON of vegeta's report.
func readVegeta(output []byte) (claim, error) {
	var said struct {
		Requests  int64 `json:"requests"`
		Latencies struct {
			P50 time.Duration `json:"50th"`
			P90 time.Duration `json:"90th"`
			P99 time.Duration `json:"99th"`
		} `json:"latencies"`
	}
	if err := json.Unmarshal(output, &said); err != nil {
		return claim{}, fmt.Errorf("read the output of vegeta: %w", err)
	}
	if said.Requests == 0 {
		return claim{}, unread("vegeta", "number of requests")
	}
	return claim{requests: said.Requests, p50: said.Latencies.P50, p90: said.Latencies.P90, p99: said.Latencies.P99}, nil
}
