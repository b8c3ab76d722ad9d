package screen

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"
)

// TestAllot: sections never get more rows than there are, nor more than they want; rows are left only if all are content.
func TestAllot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rows  int
		wants []int
		want  []int
	}{
		{14, []int{1, 0, 3, 9}, []int{2, 0, 4, 8}},
		{5, []int{4, 4, 4}, []int{3, 2, 0}},
		{1, []int{4}, []int{0}},
		{20, []int{1, 1}, []int{2, 2}},
		{-3, []int{2}, []int{0}},
	} {
		if got := allot(c.rows, c.wants); !slices.Equal(got, c.want) {
			t.Errorf("allot(%d, %v) = %v, want %v", c.rows, c.wants, got, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		wants := make([]int, 1+rng.IntN(6))
		for i := range wants {
			wants[i] = rng.IntN(8)
		}
		rows := rng.IntN(40)
		sum, content := 0, true
		for i, n := range allot(rows, wants) {
			sum += n
			content = content && (wants[i] == 0 || n == wants[i]+1)
			if n == 1 || n > wants[i]+1 || wants[i] == 0 && n > 0 {
				t.Fatalf("allot(%d, %v) gives %d to %d", rows, wants, n, i)
			}
		}
		if sum > rows || !content && rows-sum > 1 {
			t.Fatalf("allot(%d, %v) gives %d rows", rows, wants, sum)
		}
	}
}

// TestSpark: only 0 has no bar, the highest value fills its column, and the newest values are drawn.
func TestSpark(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []int64
		top    int64
		width  int
		rows   int
		want   []string
	}{
		{[]int64{0, 1, 4, 8, 800}, 800, 9, 1, []string{" ▁▁▁█"}},
		{[]int64{1, 2, 3, 4, 5, 6, 7, 8}, 8, 8, 1, []string{"▁▂▃▄▅▆▇█"}},
		{[]int64{1, 2, 3}, 3, 2, 1, []string{"▆█"}},
		{[]int64{0, 4, 8}, 8, 5, 2, []string{"  █", " ██"}},
		{[]int64{0, 0}, 0, 5, 1, []string{"  "}},
		{nil, 5, 5, 1, []string{""}},
		{[]int64{5}, 5, -3, 1, []string{""}},
	} {
		if got := spark(c.values, c.top, c.width, c.rows); !slices.Equal(got, c.want) {
			t.Errorf("spark(%v, %d, %d, %d) = %q, want %q", c.values, c.top, c.width, c.rows, got, c.want)
		}
	}
}

func TestCell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"abc", 5, "abc  "}, {"abcdef", 5, "abcd…"}, {"a\x1b[2Jb", 6, "a [2Jb"}, {"日本語", 5, "日本…"}, {"x", 0, ""}, {"x", -1, ""},
	} {
		if got := cell(c.text, c.width); got != c.want || !utf8.ValidString(got) {
			t.Errorf("cell(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
