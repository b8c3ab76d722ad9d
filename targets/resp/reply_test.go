package resp

import (
	"testing"
)

// FuzzRedisReply: the way in which a reply is split changes nothing, and no reply makes it read on behind its end.
func FuzzRedisReply(f *testing.F) {
	for _, s := range []string{"+OK\r\n", "*2\r\n$1\r\na\r\n:5\r\n", "-ERR x\r\n", "$-1\r\n", "*1\r\n*-1\r\n+x\r\n"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		whole, parts := NewReading(1000, 100), NewReading(1000, 100)
		whole.Begin()
		parts.Begin()
		used, done, err := whole.Feed([]byte(text))
		at = max(0, min(at, len(text)))
		n, partly, failed := parts.Feed([]byte(text)[:at])
		if !partly && failed == nil {
			var more int
			more, partly, failed = parts.Feed([]byte(text)[at:])
			n += more
		}
		if done != partly || (err == nil) != (failed == nil) || err == nil && (used != n || string(whole.Content()) != string(parts.Content()) || whole.class != parts.class) {
			t.Errorf("%q at %d: %d %v %v, in parts %d %v %v", text, at, used, done, err, n, partly, failed)
		}
	})
}
