package pacer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "30s": 30 * time.Second, "2d": 48 * time.Hour, "1d12h": 36 * time.Hour} {
		if got, err := pacer.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "30", "-1s", "1d-1s", "1.5d", "1d1d", "1s1d", "53376d", strings.Repeat("9", 1000) + "d"} {
		if got, err := pacer.ParseDuration(text); err == nil || got != 0 || len(err.Error()) > 200 {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
