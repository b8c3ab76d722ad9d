package e2e

import (
	"regexp"
	"testing"
)

// TestChangedErrorIsLogged: in one outage Redis is full first, and gone then. A worker tells of both, once each, about leases and about snapshots.
func TestChangedErrorIsLogged(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.worker("x", "--url", b.web.URL(), "--qps", "100")
	b.started(50)
	lines := func(what, why string) int {
		return len(regexp.MustCompile(`(?m)^.*"no `+what+`.*`+why+`.*$`).FindAllString(w.stderr.String(), -1))
	}
	both := func(why string) {
		until(t, why, func() bool { return lines("lease", why) > 0 && lines("snapshot published", why) > 0 })
	}
	if err := b.redis.Client().ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	both("OOM")
	b.redis.Kill()
	both("connection refused")
	for _, why := range []string{"OOM", "connection refused"} {
		if n, m := lines("lease", why), lines("snapshot published", why); n != 1 || m != 1 {
			t.Errorf("%s: %d and %d lines\n%s", why, n, m, w.stderr.String())
		}
	}
}
