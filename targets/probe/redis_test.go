package probe

import (
	"slices"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/resp"
)

// TestRedisServers: a target knows which servers its requests go to.
func TestRedisServers(t *testing.T) {
	server := redistest.Start(t)
	info := server.Client().Info(t.Context(), "server").Val()
	spec := targets.Spec{Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "a", URL: server.URL(), Body: []byte("PING")}, {Name: "b", URL: server.URL(), Body: []byte("PING")}}}}}
	got, err := RedisServers(t.Context(), spec, targets.Local{})
	if want := []RedisServer{{resp.RunID(info), resp.InfoField(info, "redis_version"), server.Addr()}}; err != nil || !slices.Equal(got, want) || len(want[0].ID) != 40 {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
