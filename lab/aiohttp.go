//go:build linux

package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
)

//go:embed sse.py
var sseScript []byte

// aiohttp is the library with which most load generators for language models read their streams, in a client as simple as
// ours of net/http.
func aiohttp(b *bench) (tool, error) {
	script := b.file("sse.py")
	return tool{
		name: "aiohttp", program: "/usr/bin/python3", needs: "apt-get install python3-aiohttp",
		ask: []string{script, "--version"}, found: regexp.MustCompile(`([\d.]+)`),
		args: func(l load) []string {
			return []string{script, l.url, fmt.Sprint(l.connections), fmt.Sprint(l.seconds())}
		},
		read: func(output []byte) (claim, error) {
			var said struct{ Events int64 }
			if err := json.Unmarshal(output, &said); err != nil || said.Events == 0 {
				return claim{}, unread("aiohttp", "number of events")
			}
			return claim{requests: said.Events}, nil
		},
		exact: true,
	}, os.WriteFile(script, sseScript, 0o600)
}
