package worker

import (
	"testing"

	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// TestTokensOfOneRead asserts that an answer whose tokens all came at once has a time per token: without it the others would
// make the mean of the run, and a fast server would look slow.
func TestTokensOfOneRead(t *testing.T) {
	for want, e := range map[int64]*events.Events{
		0: {Count: 1, First: 5, Last: 5, Preset: true},
		1: {Count: 3, First: 5, Last: 5, Preset: true},
		7: {Count: 3, First: 5, Last: 19, Preset: true},
	} {
		var f record.Finished
		new(shard).judge(&f, &targets.Result{Events: e})
		if f.Stream == nil || f.Stream.PerToken != want {
			t.Errorf("%+v: %+v, want %d ns per token", e, f.Stream, want)
		}
	}
}
