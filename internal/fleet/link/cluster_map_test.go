package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestReloading: the map is reloaded if a node is gone or cannot serve. An answer of the responsible node does not
// reload it.
func TestReloading(t *testing.T) {
	client := redistest.Start(t).Client()
	_, refused := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t)))
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{refused, 1},
		{context.DeadlineExceeded, 1},
		{redis.Nil, 0},
		{client.Do(t.Context(), "NO", "SUCH").Err(), 0},
		{client.Eval(t.Context(), "return {err = 'CLUSTERDOWN The cluster is down'}", nil).Err(), 1},
	} {
		n := 0
		hook := reloading{func(context.Context) { n++ }}
		one := hook.ProcessHook(func(context.Context, redis.Cmder) error { return c.err })(t.Context(), nil)
		many := hook.ProcessPipelineHook(func(context.Context, []redis.Cmder) error { return c.err })(t.Context(), nil)
		if n != 2*c.want || !errors.Is(one, c.err) || !errors.Is(many, c.err) {
			t.Errorf("%v: loaded %d times, errors %v, %v", c.err, n, one, many)
		}
	}
}
