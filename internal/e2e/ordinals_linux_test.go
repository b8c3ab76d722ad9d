package e2e

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/internal/await"
	"github.com/loadctl/loadctl/internal/redistest"
)

// ordinals counts how often each path /NUMBER was requested.
type ordinals struct {
	mu   sync.Mutex
	seen map[int64]int64
	bad  string // a path that is no number
	all  int64
}

func (o *ordinals) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/"), 10, 64)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.bad = r.URL.Path
	}
	if o.seen == nil {
		o.seen = map[int64]int64{}
	}
	o.seen[n]++
	o.all++
}

// serve answers until the test ends, and returns the address.
func (o *ordinals) serve(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: o}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return listener.Addr().String()
}

func (o *ordinals) count() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all
}

// TestOrdinals: the requests of a fleet are numbered, each number is sent once, and the numbers go on through changes of
// the rate, while workers join and are killed.
func TestOrdinals(t *testing.T) {
	t.Parallel()
	var o ordinals
	b := &bed{t: t, redis: redistest.Start(t)}
	args := append(patient(), "--url", "http://"+o.serve(t)+"/${ordinal}", "--qps", "300", "--min-workers", "3", "--permit-for", "2s")
	var ps []*process
	for range 3 {
		ps = append(ps, b.worker("numbers", args...))
	}
	await.True(t, "500 requests", func() bool { return o.count() >= 500 })
	b.loadctl("set-rate", "numbers", "600")
	ps = append(ps, b.worker("numbers", args...))
	await.True(t, "four members", func() bool { return b.status("numbers").Members == 4 })
	at := o.count()
	await.True(t, "500 more", func() bool { return o.count() >= at+500 })
	ps[0].Cmd.Process.Kill()
	at = o.count()
	await.True(t, "1,000 more", func() bool { return o.count() >= at+1000 })
	b.loadctl("set-rate", "numbers", "100")
	at = o.count()
	await.True(t, "100 more", func() bool { return o.count() >= at+100 })
	b.loadctl("stop", "numbers")
	for _, p := range ps[1:] {
		p.wait(0)
	}
	a := b.report("numbers").Audit
	o.mu.Lock()
	defer o.mu.Unlock()
	var twice, beyond int64
	for n, times := range o.seen {
		twice += times - 1
		if n < 0 || n >= a.Asked {
			beyond++
		}
	}
	if o.bad != "" || twice > 0 || beyond > a.Overrun || o.all < a.Sent || o.all > a.Sent+a.Lost {
		t.Errorf("%d arrived, %d of them again, %d with a number that was not asked for, %q; %+v", o.all, twice, beyond, o.bad, a)
	}
	t.Logf("%d arrived, %d of them again; %+v", o.all, twice, a)
}
