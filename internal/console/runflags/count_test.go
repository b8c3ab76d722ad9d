package runflags

import (
	"strings"
	"testing"
)

func TestParseCount(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "20": 20, "1k": 1000, "2.5k": 2500, "1M": 1_000_000, "1000000000": 1_000_000_000} {
		if got, err := ParseCount(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "0.5", "1.0001k", "1e3", "5/1s", "1000000001", "9223372036854775808", "many"} {
		if got, err := ParseCount(text); err == nil || !strings.Contains(err.Error(), "is no number of requests; write 1 to") || got != 0 {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

// TestTotal: a run's number of requests may be written as its rate is, and be larger than one.
func TestTotal(t *testing.T) {
	for text, want := range map[string]total{"0": 0, "1": 1, "1.5k": 1500, "2M": 2_000_000, "0.5M": 500_000, "4503599627370495": 4503599627370495, "250M": 250_000_000} {
		var got total
		if err := got.Set(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "+1", "0.5", "1.0001k", "1e3", "5/s", "k", ".", "1.2.3", "9223372036854775808", strings.Repeat("9", 1<<20), "many"} {
		var got total
		if err := got.Set(text); err == nil || !strings.HasPrefix(err.Error(), "give the number of requests of the whole cluster; 0 means no limit") {
			t.Errorf("%.40q is %v, %v", text, got, err)
		}
	}
}
