package events

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/loadctl/loadctl/targets/http1"
)

// log has the gaps between events.
type log []int64

func (l *log) Gap(_ int, ns int64) { *l = append(*l, ns) }

// seen is what became of an answer.
type seen struct {
	Events
	gaps log
	err  error
}

// at returns when the events came.
func (s *seen) at() (times []int64) {
	if s.Count == 0 {
		return nil
	}
	times = []int64{s.First}
	for _, gap := range s.gaps {
		times = append(times, times[len(times)-1]+gap)
	}
	return times
}

func rules(t testing.TB, o Options) *Rules {
	t.Helper()
	r, err := Parse(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// piece is what one read has. It came at a time.
type piece struct {
	text string
	at   int64
}

// read gives an answer to a Reader, and returns what it saw. The pieces lie in the same memory, as they do in a client.
func read(r *Reader, rules *Rules, end error, pieces ...piece) (s seen) {
	r.Begin(rules, 0, &s.gaps)
	r.Expects(200)
	var memory []byte
	for _, p := range pieces {
		memory = append(memory[:0], p.text...)
		err := r.Take(memory, false, p.at)
		for i := range memory {
			memory[i] = 'x'
		}
		if err != nil {
			end = err
			break
		}
	}
	s.err = r.End(end, func(string) []string { return nil })
	s.Events = r.Events
	return s
}

// bytewise returns an answer in pieces of a byte. The n-th byte comes at n, from 1 on.
func bytewise(text string) (all []piece) {
	for i := range len(text) {
		all = append(all, piece{text[i : i+1], int64(i + 1)})
	}
	return all
}

// feedings checks that an answer has the same events, however it is split, and that each has the time of its last byte. It
// returns what became of the answer in pieces of a byte.
func feedings(t *testing.T, rules *Rules, text string) seen {
	t.Helper()
	var r Reader
	want := read(&r, rules, nil, bytewise(text)...)
	if errors.Is(want.err, http1.ErrEnough) {
		t.Fatal("ErrEnough is no error of an answer")
	}
	for i := range len(text) + 1 {
		got := read(&r, rules, nil, piece{text[:i], 1}, piece{text[i:], 2})
		var times []int64
		for _, n := range want.at() {
			if n <= int64(i) {
				times = append(times, 1)
			} else {
				times = append(times, 2)
			}
		}
		if !slices.Equal(got.at(), times) || !errors.Is(got.err, want.err) || summary(&got) != summary(&want) {
			t.Fatalf("%.80q split at %d: events at %v, error %v, %s; want %v, %v, %s",
				text, i, got.at(), got.err, summary(&got), times, want.err, summary(&want))
		}
	}
	return want
}

func summary(s *seen) string {
	return fmt.Sprintf("%d events, tokens %d %d %t", s.Count, s.In, s.Out, s.Usage)
}
