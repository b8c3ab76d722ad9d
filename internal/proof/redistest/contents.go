package redistest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// Contents returns all data of the client's database, by key, as texts that are equal if the data is equal. It does not
// use DUMP, which the embedded server has for strings only. Lifetimes are not included, nor keys that go in the meantime.
func Contents(t testing.TB, client rdb.Client) map[string]string {
	t.Helper()
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, key := range keys {
		text, err := content(t.Context(), client, key)
		switch {
		case errors.Is(err, redis.Nil):
		case err != nil:
			t.Fatalf("read key %s: %v", key, err)
		default:
			all[key] = text
		}
	}
	return all
}

// content returns that of a key; the error is redis.Nil if there is none.
func content(ctx context.Context, client rdb.Client, key string) (string, error) {
	kind, err := client.Type(ctx, key).Result()
	if err != nil {
		return "", err
	}
	var data any
	switch kind {
	case "string":
		data, err = client.Get(ctx, key).Result()
	case "hash":
		data, err = client.HGetAll(ctx, key).Result() // fmt sorts maps
	case "list":
		data, err = client.LRange(ctx, key, 0, -1).Result()
	case "zset":
		data, err = client.ZRangeWithScores(ctx, key, 0, -1).Result()
	case "stream":
		data, err = client.XRange(ctx, key, "-", "+").Result()
	case "none":
		err = redis.Nil
	default:
		err = fmt.Errorf("it is a %s, whose content this package cannot read", kind)
	}
	return fmt.Sprintf("%s %#v", kind, data), err
}
