package trace_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/trace"
)

const key = "5f0c1b3ad2e94c7f8a6b1d2e3f405162"

// valid reports whether a receiver takes a traceparent of version 00, by the rules of W3C's own test suite
// (github.com/w3c/trace-context, test/test.py).
func valid(header string) bool {
	parts := strings.Split(header, "-")
	if len(parts) != 4 || parts[0] != "00" {
		return false
	}
	for i, size := range []int{2, 32, 16, 2} {
		part := parts[i]
		if len(part) != size || strings.Trim(part, "0123456789abcdef") != "" || (i == 1 || i == 2) && strings.Trim(part, "0") == "" {
			return false
		}
	}
	return true
}

// TestValid: the rules here judge the headers of W3C's test suite as that does.
func TestValid(t *testing.T) {
	const id, span = "12345678901234567890123456789012", "1234567890123456"
	for header, want := range map[string]bool{
		"00-" + id + "-" + span + "-01": true, "00-" + id + "-" + span + "-00": true,
		// test_traceparent_version_0xff, _illegal_characters, _too_long, _too_short
		"ff-" + id + "-" + span + "-01": false, ".0-" + id + "-" + span + "-01": false, "0.-" + id + "-" + span + "-01": false,
		"000-" + id + "-" + span + "-01": false, "0000-" + id + "-" + span + "-01": false, "0-" + id + "-" + span + "-01": false,
		// test_traceparent_version_0x00
		"00-" + id + "-" + span + "-01.": false, "00-" + id + "-" + span + "-01-what-the-future-will-be-like": false,
		// test_traceparent_trace_id_…
		"00-00000000000000000000000000000000-" + span + "-01": false, "00-.2345678901234567890123456789012-" + span + "-01": false,
		"00-1234567890123456789012345678901.-" + span + "-01": false, "00-123456789012345678901234567890123-" + span + "-01": false,
		"00-1234567890123456789012345678901-" + span + "-01": false,
		// test_traceparent_parent_id_…
		"00-" + id + "-0000000000000000-01": false, "00-" + id + "-.234567890123456-01": false, "00-" + id + "-123456789012345.-01": false,
		"00-" + id + "-12345678901234567-01": false, "00-" + id + "-123456789012345-01": false,
		// test_traceparent_trace_flags_…
		"00-" + id + "-" + span + "-.0": false, "00-" + id + "-" + span + "-0.": false, "00-" + id + "-" + span + "-001": false, "00-" + id + "-" + span + "-1": false,
		// capital letters
		"00-" + strings.Replace(id, "1", "A", 1) + "-" + span + "-01": false,
	} {
		if valid(header) != want {
			t.Errorf("%s: %v, want %v", header, !want, want)
		}
	}
}

// TestIDs: a million requests have valid headers, and each has another trace id and another span id.
func TestIDs(t *testing.T) {
	const n = 1_000_000
	s := trace.New(key)
	traces, spans := make(map[[16]byte]bool, n), make(map[[8]byte]bool, n)
	var b []byte
	for ordinal := range uint64(n) {
		if b = s.Append(b[:0], ordinal, 0, 10_000); !valid(string(b)) {
			t.Fatalf("%d: %s", ordinal, b)
		}
		traces[s.ID(ordinal)], spans[s.Span(ordinal, 0)] = true, true
	}
	if len(traces) != n || len(spans) != n {
		t.Errorf("%d trace ids, %d span ids; want %d", len(traces), len(spans), n)
	}
}

// TestFormula: the ids are what the documents say. Steps of a flow share a trace and have spans of their own.
func TestFormula(t *testing.T) {
	for _, key := range []string{key, "", trace.Key(key, "worker-1"), strings.Repeat("x", 300)} {
		s := trace.New(key)
		for _, ordinal := range []uint64{0, 7, 1<<63 + 1} {
			sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", key, ordinal))
			if want := hex.EncodeToString(sum[:16]); s.Text(ordinal) != want || string(s.AppendID(nil, ordinal)) != want {
				t.Errorf("%s/%d: %s, want %s", key, ordinal, s.Text(ordinal), want)
			}
			for _, step := range []int{0, 12} {
				sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", key, ordinal, step))
				want := fmt.Sprintf("00-%s-%x-01", s.Text(ordinal), sum[:8])
				if got := string(s.Append(nil, ordinal, step, trace.All)); got != want {
					t.Errorf("%s/%d/%d: %s, want %s", key, ordinal, step, got, want)
				}
			}
		}
	}
}

// TestSampled: each window has its share of ordinals, less than one more or less, also where ordinals are large.
func TestSampled(t *testing.T) {
	for _, share := range []trace.Share{0, 1, 9_999, 10_000, 333_333, 999_999, trace.All} {
		for _, from := range []uint64{0, 999_000, 1<<64 - 5_000_000} {
			count, low, high := 0.0, 0.0, 0.0 // of count − share, over all windows so far
			for i := range uint64(2_000_000) {
				if share.Sampled(from + i) {
					count++
				}
				off := count - float64(i+1)*share.Float()
				low, high = min(low, off), max(high, off)
			}
			if high-low >= 1+1e-6 {
				t.Errorf("%v from %d: a window has %g more or less", share, from, high-low)
			}
		}
	}
}

// TestParseShare: what is written is read back. What cannot be kept exactly is refused.
func TestParseShare(t *testing.T) {
	for text, want := range map[string]trace.Share{
		"0": 0, "0%": 0, "1%": 10_000, "0.01": 10_000, "100%": trace.All, "1": trace.All, "1.0": trace.All, "0.5%": 5_000, "33.3333%": 333_333,
		"0.0001%": 1, "0.000001": 1, " 12 % ": 120_000, "1.%": 10_000,
	} {
		got, err := trace.ParseShare(text)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
		if again, err := trace.ParseShare(got.String()); err != nil || again != got {
			t.Errorf("%s: %s is read as %d, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "%", "x", "-1%", "+1%", "1.1", "101%", "0.00001%", "0.0000001", "1e2", ".5", "1%%", "0.5.5", "99999999999999999999"} {
		if got, err := trace.ParseShare(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// TestAppendAllocatesNothing: it is part of sending.
func TestAppendAllocatesNothing(t *testing.T) {
	s, b := trace.New(trace.Key(key, "a-worker-with-a-long-name")), make([]byte, 0, 100)
	if n := testing.AllocsPerRun(100, func() { b = s.Append(b[:0], 1<<62, 1234, 10_000) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	s, out := trace.New(key), make([]byte, 0, 100)
	for n := uint64(0); b.Loop(); n++ {
		out = s.Append(out[:0], n, 0, 10_000)
	}
}
