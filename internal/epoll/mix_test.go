//go:build linux

package epoll

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// TestMix: each request is the step of its number, at the host of that step, over connections that are kept for each
// host. With as many places as hosts none is closed; with fewer, the one that is idle for longest makes room.
func TestMix(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	opened := map[string]int{}
	server := func(name string) string {
		return serve(t, func(c *net.TCPConn) {
			mu.Lock()
			opened[name]++
			mu.Unlock()
			br := bufio.NewReader(c)
			for {
				line, err := br.ReadString('\n')
				if err != nil {
					return
				}
				mu.Lock()
				lines = append(lines, name+" "+strings.TrimSpace(line))
				mu.Unlock()
				for line != "\r\n" {
					if line, err = br.ReadString('\n'); err != nil {
						return
					}
				}
				c.Write([]byte(ok))
			}
		})
	}
	spec := targets.Spec{Flows: []targets.Flow{
		{Name: "a", Weight: 2, Steps: []targets.Step{{Name: "a", URL: server("first") + "a"}}},
		{Name: "b", Weight: 1, Steps: []targets.Step{{Name: "b", URL: server("second") + "b", Checks: []string{"status 201"}}}},
	}}
	mix := spec.Mix()
	for _, c := range []struct{ connections, first, second int }{{2, 1, 1}, {1, 3, 3}} {
		mu.Lock()
		lines = nil
		clear(opened)
		mu.Unlock()
		r := newRig(t, spec, targets.Local{}, c.connections)
		r.mix = mix
		for n := range uint64(9) {
			want, class := "first GET /a HTTP/1.1", ""
			if mix.Step(n) == 1 {
				want, class = "second GET /b HTTP/1.1", "check status 201"
			}
			expect(t, r.do(), 200, class)
			mu.Lock()
			if got := lines[len(lines)-1]; got != want || len(lines) != int(n)+1 {
				t.Errorf("request %d of %d lines: %s, want %s", n, len(lines), got, want)
			}
			mu.Unlock()
		}
		mu.Lock()
		if opened["first"] != c.first || opened["second"] != c.second {
			t.Errorf("%d places: %v connections", c.connections, opened)
		}
		mu.Unlock()
		if n := len(r.c.places); n != c.connections {
			t.Errorf("%d places", n)
		}
	}
}
