package run

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// scanCount is about how many fields one reply has.
const scanCount = 10_000

// scanHash reads a hash that may be large: 10,000 workers have up to 10 million points in one. HGETALL would hold up the server, and all lease
// calls, for seconds, and its reply would be larger than any that is taken (replyLimit). A field that changes meanwhile is there as it was or as
// it is; none is missing that was there all the time.
func scanHash(ctx context.Context, client redis.UniversalClient, key string) (map[string]string, error) {
	fields := map[string]string{}
	for cursor := uint64(0); ; {
		page, next, err := client.HScan(ctx, key, cursor, "", scanCount).Result()
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(page); i += 2 {
			fields[page[i]] = page[i+1]
		}
		if cursor = next; cursor == 0 {
			return fields, nil
		}
	}
}
