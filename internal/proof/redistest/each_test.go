package redistest

import (
	"maps"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// TestEachIsPrivate: both servers answer, each is its own, and both are empty at the start.
func TestEachIsPrivate(t *testing.T) {
	var names sync.Map
	t.Run("group", func(t *testing.T) {
		Each(t, func(t *testing.T, client rdb.Client) {
			if all := Contents(t, client); len(all) != 0 {
				t.Errorf("at the start there is %v", all)
			}
			if err := client.Set(t.Context(), "name", t.Name(), 0).Err(); err != nil {
				t.Fatal(err)
			}
			if name := client.Get(t.Context(), "name").Val(); name != t.Name() {
				t.Errorf("%s finds what %s wrote", t.Name(), name)
			}
			version, err := client.Do(t.Context(), "HELLO", 3).Result()
			if err != nil {
				t.Fatal(err)
			}
			server, _ := version.(map[any]any)["server"].(string)
			names.Store(server, true)
		})
	})
	for _, server := range []string{"redis", "miniredis"} {
		if _, ok := names.Load(server); !ok {
			t.Errorf("the test did not run on %s", server)
		}
	}
}

// TestContents: every change of the data shows in its key, and in no other.
func TestContents(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, client rdb.Client) {
		before := Contents(t, client)
		for _, command := range [][]any{
			{"SET", "string", "a"}, {"SET", "string", "b"}, {"SET", "other", "b"},
			{"HSET", "hash", "f", "1"}, {"HSET", "hash", "f", "2"}, {"HSET", "hash", "g", "1", "h", "2"}, {"HDEL", "hash", "g"},
			{"RPUSH", "list", "a b"}, {"RPUSH", "list", "a", "b"}, {"LPOP", "list"},
			{"ZADD", "zset", 1, "m"}, {"ZADD", "zset", 1.5, "m"}, {"ZADD", "zset", 1.5, "n"},
			{"XADD", "stream", "1-1", "f", "v"}, {"XADD", "stream", "1-2", "f", "v"},
			{"DEL", "string"}, {"DEL", "stream"},
		} {
			if err := client.Do(t.Context(), command...).Err(); err != nil {
				t.Fatalf("%v: %v", command, err)
			}
			after := Contents(t, client)
			key, _ := command[1].(string)
			if before[key] == after[key] {
				t.Errorf("%v changed nothing: %s", command, after[key])
			}
			delete(before, key)
			rest := maps.Clone(after)
			delete(rest, key)
			if !maps.Equal(before, rest) {
				t.Errorf("%v changed another key: %v, before %v", command, rest, before)
			}
			before = after
		}
	})
}
