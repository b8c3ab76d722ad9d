package e2e

import (
	"regexp"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// TestChangedErrorIsLogged: in one outage a key of the run is damaged first, and then Redis is gone. A worker logs both
// once each, about renewals and about snapshots.
func TestChangedErrorIsLogged(t *testing.T) {
	nightly(t)
	t.Parallel()
	b := newBed(t)
	w := b.worker("x", "--url", b.web.URL(), "--qps", "100")
	b.started(50)
	lines := func(what, why string) int {
		return len(regexp.MustCompile(`(?m)^.*"`+what+`.*`+why+`.*$`).FindAllString(w.Stderr.String(), -1))
	}
	const renewal, snapshot = "Redis does not answer; ", "no snapshot published"
	both := func(why string) {
		await.True(t, why, func() bool { return lines(renewal, why) > 0 && lines(snapshot, why) > 0 })
	}
	if err := b.redis.Client().Set(t.Context(), run.KeysOf("x").Workers, "damaged", 0).Err(); err != nil {
		t.Fatal(err)
	}
	both("WRONGTYPE")
	b.redis.Kill()
	both("connection refused")
	for _, why := range []string{"WRONGTYPE", "connection refused"} {
		if n, m := lines(renewal, why), lines(snapshot, why); n != 1 || m != 1 {
			t.Errorf("%s: %d and %d lines\n%s", why, n, m, w.Stderr.String())
		}
	}
}
