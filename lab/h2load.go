//go:build linux

package main

import (
	"fmt"
	"regexp"
	"strconv"
)

// h2load is that of https://nghttp2.org: a closed loop over HTTP/2.
func h2load() tool {
	return tool{
		name: "h2load", program: "h2load", needs: "apt-get install nghttp2-client",
		ask: []string{"--version"}, found: regexp.MustCompile(`nghttp2/([\d.]+)`),
		args: func(l load) []string {
			return []string{"-t1", fmt.Sprint("-c", l.connections), fmt.Sprint("-m", max(1, l.streams)), fmt.Sprint("-D", l.seconds()), l.url}
		},
		read: readH2load,
	}
}

// readH2load reads the text that h2load prints. It has no percentiles.
func readH2load(output []byte) (c claim, err error) {
	m := regexp.MustCompile(`requests: (\d+) total`).FindSubmatch(output)
	if m == nil {
		return c, unread("h2load", "number of requests")
	}
	c.requests, err = strconv.ParseInt(string(m[1]), 10, 64)
	return c, err
}
