package printable

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile is what must not leave: titles, CSI in two forms, line breaks, backspace, NUL, DEL, overrides, what is not
// seen, and no UTF-8.
const hostile = "a\x1b]0;title\ab\x1b[2J\u009b31m\r\n\t\b\x00\x7f\u202e\u2066\u200b\ufeff\u2028\u2029\U000e0041\x9b\xff\xc2z"

// clean reports whether a text has none of them, except allowed ones.
func clean(s, allowed string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return steers(r) && !strings.ContainsRune(allowed, r) })
}

func TestLine(t *testing.T) {
	for s, want := range map[string]string{
		"":                      "",
		"500/s · größer ≥ 日本 👍": "500/s · größer ≥ 日本 👍",
		"a\nb\tc":               "a b c",
		"\x1b[31mred":           " [31mred",
		"a\xffb":                "a\ufffdb",
	} {
		if got := Line(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	if got := Line(hostile); !clean(got, "") || !strings.HasPrefix(got, "a ]0;title b [2J 31m") || !strings.HasSuffix(got, "z") {
		t.Errorf("%q", got)
	}
}

// teller is a struct with a String method.
type teller struct{ text string }

func (s teller) String() string { return s.text }

func TestFprintf(t *testing.T) {
	type state string
	var b bytes.Buffer
	if _, err := Fprintf(&b, "%s\t%-5s|%v|%d|%v|%s\n", hostile, state("a\nb"), errors.New("c\nd"), 7, nil, teller{"e\nf"}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if !clean(got, "\n\t") || strings.Count(got, "\n") != 1 || strings.Count(got, "\t") != 1 || !strings.HasSuffix(got, "\ta b  |c d|7|<nil>|e f\n") {
		t.Errorf("%q", got)
	}
}

func TestWriter(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	if n, err := w.Write([]byte(hostile)); n != len(hostile) || err != nil {
		t.Error(n, err)
	}
	if got := b.String(); !clean(got, "\n\t") || strings.Count(got, "\n") != 1 || strings.Count(got, "\t") != 1 {
		t.Errorf("%q", got)
	}
	b.Reset()
	for _, half := range []string{"\xc2", "\x9b"} { // a C1 character in two writes
		if _, err := w.Write([]byte(half)); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.String(); got != "\ufffd\ufffd" {
		t.Errorf("%q", got)
	}
}

// TestJSONWriter: nothing is lost that JSON can hold.
func TestJSONWriter(t *testing.T) {
	var b bytes.Buffer
	text := strings.ToValidUTF8(hostile, "")
	e := json.NewEncoder(NewJSONWriter(&b))
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(map[string]string{text: text}); err != nil {
		t.Fatal(err)
	}
	var back map[string]string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back[text] != text {
		t.Errorf("%v, %q", err, back)
	}
	if got := b.String(); !clean(got, "\n") {
		t.Errorf("%q", got)
	}
}

func TestFile(t *testing.T) {
	for _, w := range []interface{ Write([]byte) (int, error) }{os.Stderr, NewWriter(os.Stderr)} {
		if f, ok := File(w); !ok || f != os.Stderr {
			t.Errorf("%T: %v", w, ok)
		}
	}
	if _, ok := File(NewWriter(&bytes.Buffer{})); ok {
		t.Error("a buffer is no file")
	}
}
