package lease

import "testing"

func TestFateOf(t *testing.T) {
	for _, c := range []struct {
		now, due int64
		want     Fate
	}{{9, 10, Early}, {10, 10, Due}, {110, 10, Due}, {111, 10, Late}} {
		if got := FateOf(c.now, c.due, 100); got != c.want {
			t.Errorf("at %d, due at %d: %d, want %d", c.now, c.due, got, c.want)
		}
	}
}
