package demo

import (
	"strings"
	"testing"
	"time"
)

// TestStory: the steps are in order, their effects begin at whole seconds, and their lines fit on a terminal.
func TestStory(t *testing.T) {
	for _, c := range []struct {
		qps   int64
		rates []string // as they are told
	}{
		{1000, []string{"1000/s", "3000", "500"}},
		{15, []string{"15/s", "45", "7.5"}},
		{MaxQPS, []string{"20000/s", "60000", "10000"}},
	} {
		var told []string
		last := -time.Second
		for _, s := range story(c.qps) {
			if s.at <= last {
				t.Errorf("%s is at %v, after one at %v", s.mark, s.at, last)
			}
			last = s.at
			if off := s.at - s.at.Round(time.Second); off != 0 && off != -ahead && off != -ahead-early {
				t.Errorf("%s is %v off a whole second", s.mark, off)
			}
			if n := len("   0 s   " + s.says); n > defaultWidth {
				t.Errorf("%q has %d columns", s.says, n)
			}
			told = append(told, s.says)
		}
		text := strings.Join(told, "\n")
		for _, want := range append(c.rates, "w2 is killed (SIGKILL)", "w4 joins", "stop") {
			if !strings.Contains(text, want) {
				t.Errorf("%d: %q is not in\n%s", c.qps, want, text)
			}
		}
		if last > length {
			t.Errorf("the last step is at %v", last)
		}
	}
}
