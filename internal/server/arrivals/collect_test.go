package arrivals

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// TestSecondsArePrintedOnce: each second is printed once, when it is over, for any pieces, even if the tally has
// dropped seconds in the meantime.
func TestSecondsArePrintedOnce(t *testing.T) {
	const s = int64(time.Second)
	tally := NewTally()
	var out bytes.Buffer
	p := secondPrinter{w: &out}
	far := (KeptSeconds + 10) * s
	for _, step := range []struct {
		add  []int64
		now  int64
		want string
	}{
		{nil, 5 * s, ""},
		{[]int64{10 * s, 10*s + 1}, 11*s - 1, ""},
		{nil, 11 * s, "1970-01-01T00:00:10.000Z  2 in this second, 2 in all\n"},
		{nil, 12 * s, ""},
		{[]int64{12 * s, 13*s + 5}, 14 * s, "1970-01-01T00:00:12.000Z  1 in this second, 3 in all\n1970-01-01T00:00:13.000Z  1 in this second, 4 in all\n"},
		{[]int64{far + 20*s}, far + 21*s, "1970-01-02T00:00:30.000Z  1 in this second, 5 in all\n"},
	} {
		out.Reset()
		tally.Add(step.add)
		p.print(tally, step.now)
		if out.String() != step.want {
			t.Errorf("at %d s: %q, want %q", step.now/s, out.String(), step.want)
		}
	}
}

// Collect counts arrivals from just before the end too, and closes the server.
func TestCollect(t *testing.T) {
	s := start(t, Options{})
	var progress bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	collected := make(chan *Summary, 1)
	go func() { collected <- s.Collect(ctx, &progress) }()
	c := dial(t, s)
	for range 7 {
		if _, err := get(c, "/"); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	sum := <-collected
	if sum.URL != s.URL() || sum.Total != 7 || sum.Connections != 1 || sum.Windows[4] != (Window{10 * time.Second, 7}) || sum.PerSecond[0].At != sum.First {
		t.Errorf("%+v", sum)
	}
	if !strings.HasSuffix(progress.String(), " in this second, 7 in all\n") {
		t.Errorf("prints %q", progress.String())
	}
	if _, err := get(c, "/"); err == nil {
		t.Error("still answers")
	}
}

func TestSummaryAsText(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		sum  Summary
		want string
	}{
		{Summary{}, "total        0 requests\nseconds      0.000, from the first to the last arrival\nmean rate    0 per second\nconnections  0\n" +
			"\nWINDOW  MOST ARRIVALS IN ANY\n"},
		{Summary{First: at, Last: at.Add(3 * time.Second), Total: 5, MeanRate: 4. / 3, Connections: 2, ErrorsAnswered: 1, Windows: []Window{{time.Millisecond, 1}, {time.Second, 3}}},
			"total        5 requests\nseconds      3.000, from the first to the last arrival\nmean rate    1.333 per second\nconnections  2\nerrors       1 answered\n" +
				"\nWINDOW  MOST ARRIVALS IN ANY\n1ms     1\n1s      3\n"},
	} {
		var out bytes.Buffer
		if err := c.sum.WriteText(&out); err != nil || out.String() != c.want {
			t.Errorf("%v, %q, want %q", err, out.String(), c.want)
		}
	}
}
