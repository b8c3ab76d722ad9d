package events

import (
	"errors"
	"slices"
	"testing"
)

// TestBlocks asserts which blocks of server-sent events are events, and that each has the time of its last byte.
func TestBlocks(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		at   []int64 // the number of the last byte of each event, from 1
		err  error
	}{
		"LF":                        {"data: a\n\ndata: b\n\n", []int64{9, 18}, nil},
		"CR":                        {"data: a\r\rdata: b\r\r", []int64{9, 18}, nil},
		"CRLF: the LF is skipped":   {"data: a\r\n\r\ndata: b\r\n\r\n", []int64{10, 21}, nil},
		"mixed":                     {"data: a\r\n\rdata: b\n\r\n\ndata: c\r\n\n", []int64{10, 19, 31}, nil},
		"BOM":                       {"\ufeffdata: a\n\n", []int64{12}, nil},
		"BOM of a comment":          {"\ufeff: a\n\ndata: a\n\n", []int64{17}, nil},
		"a second BOM is a name":    {"data: a\n\n\ufeffdata: b\n\n", []int64{9}, nil},
		"half a BOM is a name":      {"\xef\xbbdata: a\n\n", nil, ErrNone},
		"comments":                  {": hi\n\n:\n\n:data: x\n\ndata: a\n\n: bye\n\n", []int64{28}, nil},
		"comments within":           {"data: a\n: hi\ndata: b\n\n", []int64{22}, nil},
		"other fields alone":        {"event: ping\nid: 7\nretry: 10\n\n", nil, ErrNone},
		"other fields too":          {"event: x\nid: 7\ndata: a\nretry: 1\n\n", []int64{33}, nil},
		"lines are joined":          {"data: a\ndata: b\n\n", []int64{17}, nil},
		"no space":                  {"data:a\n\n", []int64{8}, nil},
		"empty data":                {"data:\n\n", []int64{7}, nil},
		"no colon":                  {"data\n\ndata\ndata\n\n", []int64{6, 17}, nil},
		"another field":             {"datax: a\n\nDATA: a\n\n data: a\n\n", nil, ErrNone},
		"a control character":       {"data: \x1f\x8b\n\n", []int64{10}, nil},
		"a control character first": {"\x1fdata: a\n\ndata: b\n\n", []int64{19}, nil},
		"empty lines":               {"\n\r\n\r\n\n\ndata: a\n\n\n\n", []int64{16}, nil},
		"nothing":                   {"", nil, ErrNone},
		"end mark":                  {"data: a\n\ndata: [DONE]\n\n", []int64{9}, nil},
		"end mark without space":    {"data: a\n\ndata:[DONE]\r\n\r\n", []int64{9}, nil},
		"end mark alone":            {"data: [DONE]\n\n", nil, ErrNone},
		"after the end mark":        {"data: a\n\ndata: [DONE]\n\ndata: b\n\ndata: c", []int64{9}, nil},
		"end mark in two lines":     {"data: [DO\ndata: NE]\n\n", []int64{21}, nil},
		"end mark and more":         {"data: a\n\ndata: [DONE]\ndata: b\n\n", []int64{9}, nil},
		"end mark in a later line":  {"data: a\ndata: [DONE]\n\n", []int64{22}, nil},
		"end mark after a name":     {"data: a\n\nevent: end\nid: 7\ndata: [DONE]\r: b", []int64{9}, nil},
		"longer than an end mark":   {"data: [DONE] it is, whatever comes, and so on\n\n", []int64{47}, nil},
		"end mark, open":            {"data: a\n\ndata: [DONE]\n", []int64{9}, nil},
		"end mark, line open":       {"data: a\n\ndata: [DONE]", []int64{9}, nil},
		"half an end mark":          {"data: a\n\ndata: [DONE", []int64{9}, ErrTruncated},
		"cut in a value":            {"data: a\n\ndata: b", []int64{9}, ErrTruncated},
		"cut before an empty line":  {"data: a\n\ndata: b\n", []int64{9}, ErrTruncated},
		"cut in the first event":    {"data: a\r", nil, ErrTruncated},
		"cut in a comment":          {"data: a\n\n: b", []int64{9}, nil},
		"no event stream":           {`{"error":"not here"}`, nil, ErrNone},
		"gzip":                      {"\x1f\x8b\x08\x00\x00", nil, ErrEncoded},
	} {
		t.Run(name, func(t *testing.T) {
			got := feedings(t, rules(t, Options{Kind: SSE}), c.text)
			if !slices.Equal(got.at(), c.at) || !errors.Is(got.err, c.err) {
				t.Errorf("events at %v, error %v; want %v, %v", got.at(), got.err, c.at, c.err)
			}
		})
	}
}

// TestBlocksUntil asserts which event ends an answer, and that its rest is not wanted.
func TestBlocksUntil(t *testing.T) {
	for _, c := range []struct {
		until, text string
		count       int64
		err         error
	}{
		{"bye", "data: a\n\ndata: bye\n\ndata: c\n\n", 2, nil},
		{"bye", "data: a\n\ndata: b\n\n", 2, ErrTruncated},
		{"bye", "data: a\n\nevent: bye\n\n: bye\n\n", 1, ErrTruncated},
		{"a\nb", "data: a\n\ndata: a\ndata: b\n\ndata: c\n\n", 2, nil},
		{"/^b+$/", "data: abb\n\ndata: bb\r\r\ndata: b", 2, nil},
		{"[DONE]", "data: a\n\ndata: [DONE]\n\ndata: b\n\n", 1, nil},
		{"[DONE]", "data: [DONE]\n\n", 0, ErrNone},
		{"bye", "data: [DONE]\n\ndata: bye\n\n", 1, nil},
		{"bye", "data: a\n\ndata: [DONE]\n\n", 1, ErrTruncated},
	} {
		got := feedings(t, rules(t, Options{Kind: SSE, Until: c.until}), c.text)
		if got.Count != c.count || !errors.Is(got.err, c.err) {
			t.Errorf("until %q, %q: %d events, error %v; want %d, %v", c.until, c.text, got.Count, got.err, c.count, c.err)
		}
	}
}
