package accesslog

import "testing"

// TestTimesOfJSON: numbers are seconds, milliseconds, microseconds or nanoseconds, and what is none is no time.
func TestTimesOfJSON(t *testing.T) {
	const want = 1769860800
	for _, raw := range []string{"1769860800", "1769860800.5", `"1769860800.123"`, "1769860800123", "1769860800123456", "1769860800123456789", `"2026-01-31T12:00:00Z"`, `"2026-01-31T13:00:00.5+0100"`, `"2026-01-31 12:00:00"`, `"31/Jan/2026:12:00:00 +0000"`} {
		if got, ok := jsonTime([]byte(raw)); !ok || got != want {
			t.Errorf("%s: %d, %v", raw, got, ok)
		}
	}
	for _, raw := range []string{"", `""`, "7", "-1", `"inf"`, `"NaN"`, "1e300", "true", "{}", `"noon"`} {
		if got, ok := jsonTime([]byte(raw)); ok {
			t.Errorf("%s: %d", raw, got)
		}
	}
}

// TestRequestsOfJSON: a line is about a request only if it has one, whatever its time.
func TestRequestsOfJSON(t *testing.T) {
	for line, want := range map[string]bool{
		`{"ts":1769860800,"request":{"method":"GET","uri":"/"}}`: true,
		`{"time":"2026-01-31T12:00:00Z","request":"-"}`:          false,
		`{"ts":1769860800,"msg":"started"}`:                      false,
		`{"request":{"method":"GET","uri":"/"}}`:                 false,
	} {
		if r, ok := jsonLine(line); !ok || r.Timed != want {
			t.Errorf("%s: %+v, %v", line, r, ok)
		}
	}
}
