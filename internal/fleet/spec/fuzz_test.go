package spec

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func FuzzParseSpec(f *testing.F) {
	for _, text := range []string{
		stored(`"target":{"url":"noop://"},"qps":"30/1m","max_lag_ns":1,"catch_up_ns":1,"min_workers":1}`),
		fmt.Sprintf(`{"version":%d,"qps":[]}`, Version+1), stored(`"qps":"x"}`), stored(`"stages":["1m:1k"]}`), `[]`, `null`, `{"version":1e9}`, ``,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("x", text)
		if err != nil {
			if !errors.Is(err, ErrBroken) && !errors.Is(err, ErrNewer) && !errors.Is(err, ErrOlder) || strings.Contains(err.Error(), "\n") {
				t.Fatal(err)
			}
			return
		}
		if diff := s.Diff(s); len(diff) != 0 {
			t.Fatalf("%q differs from itself: %v", text, diff)
		}
		if s.Validate() == nil {
			if _, err := s.Plan(); err != nil {
				t.Fatalf("%q is valid and has no budget: %v", text, err)
			}
		}
	})
}
