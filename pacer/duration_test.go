package pacer_test

import (
	"math"
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

// TestParseDurationOfFlags: days, and the bounds of what a flag takes.
func TestParseDurationOfFlags(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "1ms": time.Millisecond, "1h30m": 90 * time.Minute, "2d": 2 * day, "1d12h": 36 * time.Hour, "0d1s": time.Second, "1.5s": 1500 * time.Millisecond,
	} {
		if got, err := pacer.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "1", "-1s", "1d-1s", "-1d", "+1d", "1.5d", "1dd", "1d1d", "1s1d", " 1s", "1 s", "99999d", "53376d", "4294967296d",
		"9999999h", "9223372036854775807ns1d", "53375d2562047h", "NaN", "1e3s", "١s"} {
		if got, err := pacer.ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if d, err := pacer.ParseDuration("53375d"); err != nil || d <= 0 || d > math.MaxInt64/2 {
		t.Errorf("%v, %v", d, err)
	}
}

// FuzzParseDuration: what is read is never negative, and is read again as it is written.
func FuzzParseDuration(f *testing.F) {
	for _, text := range []string{"1d12h", "30s", "1.5h", "-1s", "d", "53375d"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := pacer.ParseDuration(text)
		if d < 0 || err != nil && d != 0 {
			t.Fatalf("%q: %v, %v", text, d, err)
		}
		if err != nil {
			return
		}
		if again, err := pacer.ParseDuration(d.String()); err != nil || again != d {
			t.Fatalf("%q is %v, which is read as %v, %v", text, d, again, err)
		}
	})
}
