//go:build linux

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
)

//go:embed sse.py
var sseScript []byte

// aiohttp is the library with which most load generators for language models read their streams, in a client as simple as
// ours of net/http. Its error is that it is missing.
func aiohttp(ctx context.Context, b *bench) (tool, error) {
	script := b.file("sse.py")
	t := tool{
		name: "aiohttp", program: "/usr/bin/python3",
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
	}
	if err := os.WriteFile(script, sseScript, 0o600); err != nil {
		return t, err
	}
	if err := exec.CommandContext(ctx, t.program, script, "--version").Run(); err != nil {
		return t, fmt.Errorf("it is missing: apt-get install python3-aiohttp (%w)", err)
	}
	return t, t.locate(ctx)
}
