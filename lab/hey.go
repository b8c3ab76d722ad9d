//go:build linux

package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// hey is https://github.com/rakyll/hey: a closed loop. Its rate is one for each of its workers, and they do not catch
// up.
func hey() tool {
	return tool{
		name: "hey", program: "hey", needs: "apt-get install hey",
		ask: []string{"-h"}, found: regexp.MustCompile(`$^`), // hey does not print its version
		args: func(l load) []string {
			args := []string{"-z", fmt.Sprintf("%ds", l.seconds()), "-c", fmt.Sprint(l.connections)}
			if l.rate > 0 {
				args = append(args, "-q", strconv.FormatFloat(float64(l.rate)/float64(l.connections), 'g', -1, 64))
			}
			return append(args, l.url)
		},
		read: readHey,
	}
}

// readHey reads the text that hey prints. Its percentiles are in tenths of a ms.
func readHey(output []byte) (claim, error) {
	var c claim
	for _, m := range regexp.MustCompile(`\[\d+\]\s+(\d+) responses`).FindAllSubmatch(output, -1) {
		n, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil {
			return c, err
		}
		c.requests += n
	}
	if c.requests == 0 {
		return c, unread("hey", "number of responses")
	}
	for line := range strings.Lines(string(output)) {
		var percent int
		var s float64
		if n, _ := fmt.Sscanf(line, " %d%% in %f secs", &percent, &s); n != 2 {
			continue
		}
		for p, into := range map[int]*time.Duration{50: &c.p50, 90: &c.p90, 99: &c.p99} {
			if p == percent {
				*into = time.Duration(s * float64(time.Second))
			}
		}
	}
	return c, nil
}
