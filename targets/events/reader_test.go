package events

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/http1"
)

// TestLines asserts which lines are events.
func TestLines(t *testing.T) {
	for _, c := range []struct {
		until, text string
		at          []int64
		err         error
	}{
		{"", "a\nbc\n", []int64{2, 5}, nil},
		{"", "a\r\n\r\n\n \nb\r\n", []int64{3, 8, 11}, nil},
		{"", "a\rb\n", []int64{4}, nil},
		{"", strings.Repeat("a", 100) + "\r\n", []int64{102}, nil},
		{"", "", nil, ErrNone},
		{"", "\n\r\n", nil, ErrNone},
		{"", "a\nb", []int64{2, 3}, nil}, // the end of the answer ends a line
		{"", "bcd", []int64{3}, nil},
		{"", "a\n\r", []int64{2}, nil},
		{"end", "a\nend", []int64{2, 5}, nil},
		{"end", "a\nen", []int64{2, 4}, ErrTruncated},
		{"", "\x1f\x8b\n", nil, ErrEncoded},
		{"", "\x1f\n\x8b\n", []int64{2, 4}, nil},
		{"/^end$/", "a\nbend\nend\r\nc", []int64{2, 7, 12}, nil},
		{"end", "a\nb\n", []int64{2, 4}, ErrTruncated},
		{"end", "a\n" + strings.Repeat("b", 100) + "end\n", []int64{2, 106}, nil},
		{"end", "", nil, ErrNone},
	} {
		got := feedings(t, rules(t, Options{Kind: Lines, Until: c.until}), c.text)
		if !slices.Equal(got.at(), c.at) || !errors.Is(got.err, c.err) {
			t.Errorf("until %q, %.80q: events at %v, error %v; want %v, %v", c.until, c.text, got.at(), got.err, c.at, c.err)
		}
	}
}

// TestParts asserts which chunks and messages are events.
func TestParts(t *testing.T) {
	type part struct {
		text string
		end  bool
	}
	for _, c := range []struct {
		kind  string
		limit int64
		parts []part
		at    []int64
		err   error
	}{
		{Chunks, 0, []part{{"a", false}, {"b", true}, {"c", true}}, []int64{2, 3}, nil},
		{Chunks, 0, []part{{"a", false}, {"", true}, {"", true}, {"c", true}}, []int64{2, 4}, nil},
		{Chunks, 2, []part{{"a", false}, {"b", true}, {"cd", true}}, []int64{2, 3}, nil},
		{Chunks, 2, []part{{"ab", true}, {"cd", false}, {"e", false}, {"", true}}, []int64{1}, ErrLimit},
		{Chunks, 0, nil, nil, ErrNone},
		{Messages, 0, []part{{"", true}, {"", true}}, []int64{1, 2}, nil},
	} {
		var r Reader
		var s seen
		r.Begin(rules(t, Options{Kind: c.kind, Limit: c.limit}), 0, &s.gaps)
		r.Expects(200)
		for i, p := range c.parts {
			if s.err = r.Take([]byte(p.text), p.end, int64(i+1)); s.err != nil {
				break
			}
		}
		s.err = r.End(s.err, func(string) []string { return nil })
		if s.Events = r.Events; !slices.Equal(s.at(), c.at) || !errors.Is(s.err, c.err) {
			t.Errorf("%s %v: events at %v, error %v; want %v, %v", c.kind, c.parts, s.at(), s.err, c.at, c.err)
		}
	}
}

// TestEnd asserts what the end of an answer means.
func TestEnd(t *testing.T) {
	reset := errors.New("reset")
	for name, c := range map[string]struct {
		o      Options
		status int
		text   string
		err    error
		coding string
		want   error
	}{
		"whole":                        {Options{Kind: SSE}, 200, "data: a\n\n", nil, "", nil},
		"cut":                          {Options{Kind: SSE}, 200, "data: a\n\n", io.ErrUnexpectedEOF, "", ErrTruncated},
		"cut in an event":              {Options{Kind: SSE}, 200, "data: a\n\ndata: b", io.ErrUnexpectedEOF, "", ErrTruncated},
		"cut before an event":          {Options{Kind: SSE}, 200, "", io.ErrUnexpectedEOF, "", ErrTruncated},
		"reset after the end mark":     {Options{Kind: SSE}, 200, "data: a\n\ndata: [DONE]\n\n", reset, "", nil},
		"reset after the last text":    {Options{Preset: OpenAI}, 200, response, reset, "", nil},
		"reset within the end mark":    {Options{Kind: SSE}, 200, "data: a\n\ndata: [DON", reset, "", reset},
		"late, the end mark is open":   {Options{Kind: SSE}, 200, "data: a\n\ndata: [DONE]\n", os.ErrDeadlineExceeded, "", nil},
		"end mark alone, then reset":   {Options{Kind: SSE}, 200, "data: [DONE]\n\n", reset, "", ErrNone},
		"reset after an error":         {Options{Preset: OpenAI}, 200, "event: error\ndata: x\n\n", reset, "", ErrAnswer},
		"cut after the end mark":       {Options{Preset: OpenAI}, 200, "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\n", io.ErrUnexpectedEOF, "", nil},
		"cut in a line":                {Options{Kind: Lines}, 200, "a\nb", io.ErrUnexpectedEOF, "", ErrTruncated},
		"reset":                        {Options{Kind: SSE}, 200, "data: a\n\n", reset, "", reset},
		"late, no event":               {Options{Kind: SSE}, 200, ": a\n\n", os.ErrDeadlineExceeded, "", os.ErrDeadlineExceeded},
		"late, an event":               {Options{Kind: SSE}, 200, "data: a\n\n", os.ErrDeadlineExceeded, "", ErrStalled},
		"late, after the end mark":     {Options{Kind: SSE}, 200, "data: a\n\ndata: [DONE]\n\n", os.ErrDeadlineExceeded, "", nil},
		"late, after an error":         {Options{Preset: OpenAI}, 200, "data: {\"error\":1}\n\n", os.ErrDeadlineExceeded, "", ErrAnswer},
		"another status":               {Options{Kind: SSE}, 500, "", nil, "", nil},
		"another status, cut":          {Options{Kind: SSE}, 500, "", io.ErrUnexpectedEOF, "gzip", io.ErrUnexpectedEOF},
		"zstd":                         {Options{Kind: SSE}, 200, "\x28\xb5\x2f\xfd", nil, "zstd", ErrEncoded},
		"zstd, cut":                    {Options{Kind: Chunks}, 200, "\x28\xb5\x2f\xfd", io.ErrUnexpectedEOF, "zstd", ErrEncoded},
		"identity":                     {Options{Kind: SSE}, 200, "data: a\n\n", nil, " Identity ", nil},
		"enough":                       {Options{Kind: SSE, Until: "a"}, 200, "data: a\n\n", nil, "", nil},
		"enough, whatever comes later": {Options{Kind: Lines, Until: "a"}, 200, "a\nb", io.ErrUnexpectedEOF, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			ok := rules(t, c.o)
			ok.Expects = func(status int) bool { return status == 200 }
			var r Reader
			r.Begin(ok, 0, nil)
			err := c.err
			if r.Expects(c.status) {
				if taken := r.Take([]byte(c.text), false, 1); taken != nil {
					err = taken
				}
			}
			if got := r.End(err, func(string) []string { return []string{c.coding} }); !errors.Is(got, c.want) {
				t.Errorf("error %v; want %v", got, c.want)
			}
		})
	}
}

// TestErrorStays asserts that an answer that has failed, or that is not wanted, is not read on.
func TestErrorStays(t *testing.T) {
	for _, c := range []struct {
		o    Options
		text string
		want error
	}{
		{Options{Kind: SSE, Limit: 10}, "data: 123456", ErrLimit},
		{Options{Kind: Lines, Until: "a"}, "a\n", http1.ErrEnough},
		{Options{Kind: SSE}, "data: [DONE]\n\n", nil},
		{Options{Preset: OpenAI}, "event: error\ndata\n\n", nil},
	} {
		var r Reader
		r.Begin(rules(t, c.o), 0, nil)
		first := r.Take([]byte(c.text), false, 1)
		count := r.Count
		again := r.Take([]byte("\n\ndata: b\n\n"), false, 2)
		if !errors.Is(first, c.want) || !errors.Is(again, c.want) || r.Count != count {
			t.Errorf("%+v: errors %v and %v, %d and %d events", c.o, first, again, count, r.Count)
		}
	}
}

// TestOver asserts that an answer says once that nothing more is to come, and that of a long rest no more is wanted.
func TestOver(t *testing.T) {
	for text, want := range map[string]error{"data: [DONE]\n\n": ErrNone, "data: a\n\ndata: [DONE]\n\n": nil} {
		var r Reader
		r.Begin(rules(t, Options{Kind: SSE}), 0, nil)
		over := 0
		r.Over = func() { over++ }
		if err := r.Take([]byte(text), false, 7); err != nil || over != 1 || r.Done != 7 {
			t.Fatalf("error %v, over %d times, at %d", err, over, r.Done)
		}
		var err error
		taken := 0
		for piece := make([]byte, 1000); err == nil; taken += len(piece) {
			err = r.Take(piece, false, 8)
		}
		if !errors.Is(err, http1.ErrEnough) || taken < mostRest || taken > mostRest+1000 || over != 1 || r.Done != 7 {
			t.Errorf("error %v after %d bytes, over %d times, at %d", err, taken, over, r.Done)
		}
		if got := r.End(err, func(string) []string { return nil }); !errors.Is(got, want) {
			t.Errorf("%q: error %v; want %v", text, got, want)
		}
	}
}

// TestLimit asserts that an event that is too long fails as soon as it is, however it is split, and that one that fits passes.
func TestLimit(t *testing.T) {
	for _, c := range []struct {
		o    Options
		text string
		err  error
	}{
		{Options{Kind: Lines, Limit: 5}, "12345\n12345\n", nil},
		{Options{Kind: Lines, Limit: 5}, "1\n123456", ErrLimit},
		{Options{Kind: SSE, Limit: 20}, "data: 12345678901234\n\ndata: 12345678901234\n\n", nil},
		{Options{Kind: SSE, Limit: 20}, "data: 123456789012345", ErrLimit},
		{Options{Kind: SSE, Limit: 20}, "data: 1\ndata: 12\ndata: 3", ErrLimit},
		{Options{Kind: SSE, Limit: 20}, strings.Repeat("data: 1\n: 123456789\nid: 123456\n\n", 5), nil},
		{Options{Kind: SSE, Limit: 20}, strings.Repeat("data\n", 5), ErrTruncated},
		{Options{Kind: SSE, Limit: 20}, strings.Repeat("data\n", 5) + "d", ErrLimit},
		{Options{Kind: SSE, Limit: 20}, "data: a\n\n:" + strings.Repeat(" ", 20), ErrLimit},
		{Options{Preset: OpenAI, Limit: 20}, "data: 12345678901234\n", ErrTruncated},
		{Options{Preset: OpenAI, Limit: 20}, "data: 123456789012345\n", ErrLimit},
	} {
		if got := feedings(t, rules(t, c.o), c.text); !errors.Is(got.err, c.err) {
			t.Errorf("%+v, %q: error %v; want %v", c.o, c.text, got.err, c.err)
		}
	}
}

// TestMemory asserts that hostile answers cost no more memory than the limit of an event allows, and of 1 GB almost none if
// nobody looks into events.
func TestMemory(t *testing.T) {
	full := bytes.Repeat([]byte("a"), 64<<10)
	for _, c := range []struct {
		o      Options
		begin  string
		repeat []byte
		most   int // bytes of memory
		taken  int // bytes until the error; 0 = there is none in 1 GB
	}{
		{Options{Kind: SSE}, "data: ", full, 64, 1<<20 + 1},
		{Options{Kind: SSE}, ": ", full, 64, 1<<20 + 1},
		{Options{Kind: SSE, Until: "b"}, "data: ", full, 2 << 20, 1<<20 + 1},
		{Options{Kind: SSE, Until: "b"}, "", bytes.Repeat([]byte("data\n"), 10<<10), 3 << 20, 1<<20/4*5 + 1},
		{Options{Kind: SSE}, "", bytes.Repeat([]byte(":\n"), 10<<10), 64, 0},
		{Options{Kind: SSE}, "", bytes.Repeat([]byte("id: 1\r"), 10<<10), 64, 0},
		{Options{Kind: SSE, Limit: 1 << 30}, "data: ", full, 64, 0},
		{Options{Kind: Lines}, "", full, 64, 1<<20 + 1},
		{Options{Kind: Lines, Limit: 1 << 30}, "", full, 64, 0},
		{Options{Kind: Lines, Until: "b"}, "", full, 2 << 20, 1<<20 + 1},
		{Options{Kind: Chunks}, "", full, 0, 1<<20 + 1},
		{Options{Kind: Chunks, Limit: 1 << 30}, "", full, 0, 0},
	} {
		var r Reader
		r.Begin(rules(t, c.o), 0, nil)
		err := r.Take([]byte(c.begin), false, 1)
		taken := len(c.begin)
		all := 1 << 30
		if len(c.repeat) < len(full) {
			all = 16 << 20
		}
		for err == nil && taken+len(c.repeat) <= all {
			err = r.Take(c.repeat, false, 1)
			taken += len(c.repeat)
		}
		name := fmt.Sprintf("%+v, %q and %.10q…", c.o, c.begin, c.repeat)
		if most := cap(r.line.part) + cap(r.block.held); most > c.most {
			t.Errorf("%s: %d bytes of memory; at most %d", name, most, c.most)
		}
		if c.taken == 0 && err != nil || c.taken > 0 && (!errors.Is(err, ErrLimit) || taken >= c.taken+len(c.repeat)) {
			t.Errorf("%s: error %v after %d bytes", name, err, taken)
		}
		if r.Begin(rules(t, c.o), 0, nil); cap(r.line.part) > keptPart || cap(r.block.held) > keptPart {
			t.Errorf("%s: the next answer has %d and %d bytes of memory", name, cap(r.line.part), cap(r.block.held))
		}
	}
}

// TestGaps asserts what is noted of the times between events.
func TestGaps(t *testing.T) {
	ok := rules(t, Options{Kind: SSE, Goals: []string{"first_event<1s", "event_gap:max<10ns", "event_gap:avg<20ns"}})
	const a = "data: a\n\n"
	var r Reader
	s := read(&r, ok, nil, piece{a, 100}, piece{a + a, 109}, piece{a, 119}, piece{a, 150})
	if want := (log{9, 0, 10, 31}); !slices.Equal(s.gaps, want) || s.Longest != 31 || s.Gaps() != 4 {
		t.Errorf("gaps %v, longest %d; want %v", s.gaps, s.Longest, want)
	}
	if s.Within != [MaxGoals]int64{0, 2, 3} {
		t.Errorf("within the goals: %v", s.Within)
	}
}

// An event of a chat, of about 300 bytes.
const token = `data: {"id":"chatcmpl-9d8f7a6b5c4d3e2f1a0b","object":"chat.completion.chunk","created":1764450000,"model":"meta-llama/Llama-3.1-8B-Instruct","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":" wonderful"},"logprobs":null,"finish_reason":null}],"usage":null,"service_tier":"x"}` + "\n\n"

// nobody hears of gaps.
type nobody struct{}

func (nobody) Gap(int, int64) {}

// TestNoAllocations asserts that an event that lies in one piece needs no memory, and one in two pieces none after the first.
func TestNoAllocations(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		text string
	}{
		"sse":    {Options{Kind: SSE}, "event: x\r\ndata: a\r\n\r\n"},
		"until":  {Options{Kind: SSE, Until: "never"}, "data: a\n\n"},
		"openai": {Options{Preset: OpenAI}, token},
		"lines":  {Options{Kind: Lines, Until: "/^never$/"}, "a\n"},
	} {
		var r Reader
		r.Begin(rules(t, c.o), 0, nobody{})
		b := []byte(c.text)
		for _, at := range []int{len(b), len(b) / 2} {
			n := testing.AllocsPerRun(1000, func() {
				if errors.Join(r.Take(b[:at], false, 1), r.Take(b[at:], false, 2)) != nil {
					t.Fatal("an event fails")
				}
			})
			if n != 0 {
				t.Errorf("%s in pieces of %d bytes: %v allocations", name, at, n)
			}
		}
		if r.Count != 2002 {
			t.Errorf("%s: %d events", name, r.Count)
		}
	}
}

// BenchmarkToken measures an event of a chat, in one piece and in two.
func BenchmarkToken(b *testing.B) {
	for _, at := range []int{0, len(token) / 2} {
		b.Run(fmt.Sprintf("split=%d", at), func(b *testing.B) {
			var r Reader
			r.Begin(rules(b, Options{Preset: OpenAI, Goals: []string{"event_gap:p(95)<80ms"}}), 0, nobody{})
			text := []byte(token)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				_ = r.Take(text[:at], false, 1)
				_ = r.Take(text[at:], false, 2)
			}
		})
	}
}
