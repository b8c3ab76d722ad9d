package results

import (
	"reflect"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/run"
)

// TestReportHasEvents: a report has the last events in Redis, and all commands among the events.
func TestReportHasEvents(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), run.Options{})
		m := b.member(r, "a")
		m.start()
		b.must(r.Pause(t.Context()))
		b.must(r.Resume(t.Context()))
		listed, err := r.Events(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := Report(t.Context(), r)
		if err != nil || len(listed) < 4 || !reflect.DeepEqual(rep.Events, listed) {
			t.Errorf("%v, %+v, want %+v", err, rep.Events, listed)
		}
		pipe := b.client.Pipeline()
		for range 1000 {
			pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: r.Keys.Events, Values: []string{"t", "1800000000000000", "kind", "join", "who", "w", "what", ""}})
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		rep, err = Report(t.Context(), r)
		if err != nil || len(rep.Events) != 1000 || rep.Events[0].Who != "w" || len(rep.Described.Commands) != 3 ||
			!strings.Contains(strings.Join(rep.Notes, "; "), "the report lists the last 1000 changes of the run") {
			t.Errorf("%v, %d events, %+v, %q", err, len(rep.Events), rep.Described.Commands, rep.Notes)
		}
		// JSON cannot hold a time that no clock shows.
		b.client.XAdd(t.Context(), &redis.XAddArgs{Stream: r.Keys.Events, Values: []string{"t", "9223372036854775807", "kind", "join", "who", "w"}})
		rep, err = Report(t.Context(), r)
		if err != nil || len(rep.Events) != 0 || !strings.Contains(strings.Join(rep.Notes, "; "), "time 9223372036854775807 is out of range") {
			t.Errorf("%v, %d events, %q", err, len(rep.Events), rep.Notes)
		}
	})
}
