//go:build linux

package main

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// wrk is https://github.com/wg/wrk: a closed loop.
func wrk() tool {
	return tool{
		name: "wrk", program: "wrk", needs: "apt-get install wrk",
		ask: []string{"-v"}, found: regexp.MustCompile(`wrk (?:debian/)?([\d.]+)`),
		args: func(l load) []string {
			if l.rate > 0 {
				return nil
			}
			return []string{"-t1", fmt.Sprint("-c", l.connections), fmt.Sprintf("-d%ds", l.seconds()), "-L", l.url}
		},
		read: readWrk,
	}
}

// wrk2 is https://github.com/giltene/wrk2: wrk with a rate. It measures latencies from when a request was due.
func wrk2() tool {
	return tool{
		name: "wrk2", program: "wrk2", needs: "build it from its source, and call it wrk2",
		ask: []string{"-v"}, found: regexp.MustCompile(`wrk2? ([\d.]+)`),
		args: func(l load) []string {
			if l.rate == 0 {
				return nil
			}
			return []string{"-t1", fmt.Sprint("-c", l.connections), fmt.Sprintf("-d%ds", l.seconds()), fmt.Sprint("-R", l.rate), "-L", l.url}
		},
		read: readWrk,
	}
}

// readWrk reads the text that wrk or wrk2 prints.
func readWrk(output []byte) (claim, error) {
	var c claim
	m := regexp.MustCompile(`(\d+) requests in`).FindSubmatch(output)
	if m == nil {
		return c, unread("wrk", "number of requests")
	}
	var err error
	if c.requests, err = strconv.ParseInt(string(m[1]), 10, 64); err != nil {
		return c, err
	}
	for name, into := range map[string]*time.Duration{"50": &c.p50, "90": &c.p90, "99": &c.p99} {
		m := regexp.MustCompile(`(?m)^\s+` + name + `(?:\.000)?%\s+([\d.]+(?:us|ms|s|m))\s*$`).FindSubmatch(output)
		if m == nil {
			return c, unread("wrk", "p"+name)
		}
		if *into, err = time.ParseDuration(string(m[1])); err != nil {
			return c, err
		}
	}
	return c, nil
}
