package link

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// TestScanHash: the points of many workers are read, each once, although they are far more than one page.
func TestScanHash(t *testing.T) {
	server := redistest.Start(t)
	client, err := Connect(t.Context(), server.URL()+"?read_timeout=1h")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const workers, points = 700, 1024
	const fill = "for i = 0, ARGV[2] - 1 do redis.call('HSET', KEYS[1], 'w' .. ARGV[1] .. '/x/' .. i, i) end"
	for w := range workers {
		if err := client.Eval(t.Context(), fill, []string{"series"}, w, points).Err(); err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
	}
	fields := map[string]string{}
	err = ScanHash(t.Context(), client, "series", func(name, text string) error {
		if fields[name] != "" {
			t.Errorf("%s is read twice", name)
		}
		fields[name] = text
		return nil
	})
	if err != nil || len(fields) != workers*points || fields["w699/x/1023"] != "1023" {
		t.Errorf("%d fields, %v", len(fields), err)
	}
}
