//go:build linux

package loop

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/targets"
)

// TestMix: each request is the step of its number, at the host of that step, over connections that are kept for each
// host. With as many conns as hosts none is closed; with fewer, the one that is idle for longest makes room.
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
		if n := len(r.c.conns); n != c.connections {
			t.Errorf("%d places", n)
		}
	}
}

// TestPreconnectOfMix: each host gets connections ahead in its share of the requests, also of later steps of flows.
func TestPreconnectOfMix(t *testing.T) {
	var opened [3]atomic.Int64
	var urls []string
	for i := range opened {
		urls = append(urls, serve(t, func(c *net.TCPConn) {
			opened[i].Add(1)
			_, _ = c.Read(make([]byte, 1)) // until it is closed
		}))
	}
	step := func(name string, host int) targets.Step { return targets.Step{Name: name, URL: urls[host]} }
	r := newRig(t, targets.Spec{Flows: []targets.Flow{
		{Name: "a", Weight: 3, Steps: []targets.Step{step("a", 0), step("b", 1)}},
		{Name: "b", Weight: 2, Steps: []targets.Step{step("c", 2)}},
	}}, targets.Local{}, 16)
	if n := r.c.Preconnect(t.Context(), 16, time.Microsecond); n != 16 {
		t.Fatalf("%d connections are open", n)
	}
	got := func() [3]int64 { return [3]int64{opened[0].Load(), opened[1].Load(), opened[2].Load()} }
	await.True(t, "16 connections", func() bool { return opened[0].Load()+opened[1].Load()+opened[2].Load() >= 16 })
	if got() != [3]int64{6, 6, 4} {
		t.Errorf("%v connections, want 6, 6 and 4", got())
	}
}
