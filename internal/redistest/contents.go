package redistest

import (
	"context"
	"fmt"
	"testing"

	"github.com/loadctl/loadctl/internal/rdb"
)

// Contents returns all data of the client's database, by key, as texts that are equal if the data is equal. It does not
// use DUMP, which the embedded server has for strings only. Lifetimes are not included.
func Contents(t testing.TB, client rdb.Client) map[string]string {
	t.Helper()
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, key := range keys {
		if all[key], err = content(t.Context(), client, key); err != nil {
			t.Fatalf("read key %s: %v", key, err)
		}
	}
	return all
}

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
	default:
		err = fmt.Errorf("it is a %s, whose content this package cannot read", kind)
	}
	return fmt.Sprintf("%s %#v", kind, data), err
}
