package link

import (
	"context"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
)

// scanCount is about how many fields one reply has.
const scanCount = 1000

// ScanHash reads a hash that may be large, field by field: HGETALL would block the server, and all renewals. A field
// that changes in between is read as before or after the change. A field that is there all the time is never missing,
// and none is read twice.
func ScanHash(ctx context.Context, client rdb.Client, key string, read func(name, text string) error) error {
	known := map[string]bool{}
	for cursor := uint64(0); ; {
		page, next, err := client.HScan(ctx, key, cursor, "", scanCount).Result()
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(page); i += 2 {
			if known[page[i]] { // the hash has grown since
				continue
			}
			known[page[i]] = true
			if err := read(page[i], page[i+1]); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
