package link

import "testing"

// TestElected: at a tie no client moves, whichever Sentinel answers first. Clients that know no master yet choose the
// same one.
func TestElected(t *testing.T) {
	for _, c := range []struct {
		votes map[string]int
		now   string
		want  string
	}{
		{map[string]int{}, "a", ""},
		{map[string]int{"b": 1}, "a", "b"},
		{map[string]int{"a": 1, "b": 1}, "a", "a"},
		{map[string]int{"a": 1, "b": 1}, "b", "b"},
		{map[string]int{"a": 1, "b": 1}, "", "a"},
		{map[string]int{"a": 1, "b": 1}, "c", "a"},
		{map[string]int{"a": 1, "b": 2}, "a", "b"},
		{map[string]int{"a": 2, "b": 1, "c": 2}, "c", "c"},
	} {
		if got := elected(c.votes, c.now); got != c.want {
			t.Errorf("%v, now %q: %q, want %q", c.votes, c.now, got, c.want)
		}
	}
}
