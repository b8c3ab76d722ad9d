//go:build linux

package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ab is ApacheBench: a closed loop with HTTP/1.0.
func ab() tool {
	// ab allocates room for every request before it begins, and stops after that many. So this is more than any client
	// can send.
	const most = 500_000
	return tool{
		name: "ab", program: "ab", needs: "apt-get install apache2-utils",
		ask: []string{"-V"}, found: regexp.MustCompile(`Version ([\d.]+)`),
		args: func(l load) []string {
			if l.rate > 0 {
				return nil
			}
			return []string{"-q", "-k", "-c", fmt.Sprint(l.connections), "-t", fmt.Sprint(l.seconds()), "-n", fmt.Sprint(most * l.seconds()), l.url}
		},
		read: readAB,
	}
}

// readAB reads the text that ab prints. Its percentiles are in whole ms.
func readAB(output []byte) (claim, error) {
	var c claim
	m := regexp.MustCompile(`Complete requests:\s+(\d+)`).FindSubmatch(output)
	if m == nil {
		return c, unread("ab", "number of requests")
	}
	var err error
	if c.requests, err = strconv.ParseInt(string(m[1]), 10, 64); err != nil {
		return c, err
	}
	for line := range strings.Lines(string(output)) {
		var percent int
		var ms int64
		if n, _ := fmt.Sscanf(line, " %d%% %d", &percent, &ms); n != 2 {
			continue
		}
		for p, into := range map[int]*time.Duration{50: &c.p50, 90: &c.p90, 99: &c.p99} {
			if p == percent {
				*into = time.Duration(ms) * time.Millisecond
			}
		}
	}
	return c, nil
}
