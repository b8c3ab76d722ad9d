package demo

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestLocale(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		utf8             bool
	}{
		{"", "", "", false},
		{"", "", "C", false},
		{"", "", "C.UTF-8", true},
		{"", "", "de_DE.utf8", true},
		{"", "en_US.UTF-8", "C", true},
		{"", "C", "en_US.UTF-8", false},
		{"C", "en_US.UTF-8", "en_US.UTF-8", false},
		{"POSIX", "", "", false},
		{"de_DE.ISO-8859-1", "", "", false},
	} {
		env := map[string]string{"LC_ALL": c.all, "LC_CTYPE": c.ctype, "LANG": c.lang}
		if got := speaksUTF8(func(name string) string { return env[name] }); got != c.utf8 {
			t.Errorf("%v: %v", env, got)
		}
	}
}

// TestNoTerminal: other outputs get 80 columns and no colours.
func TestNoTerminal(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	var out bytes.Buffer
	s := newScreen(&out)
	s.heading("%d", 1)
	s.line("%d", 2)
	if want := (look{width: 80, blocks: true}); s.look != want || out.String() != "1\n2\n" {
		t.Errorf("%+v, %q", s.look, out.String())
	}
	if got := (look{colour: true}).paint(bold, "x"); got != "\x1b[1mx\x1b[0m" {
		t.Errorf("%q", got)
	}
}

// brokenPipe fails at the second write.
type brokenPipe struct{ writes int }

var errPipe = errors.New("broken pipe")

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.writes++; b.writes > 1 {
		return 0, errPipe
	}
	return len(p), nil
}

func TestScreenKeepsItsError(t *testing.T) {
	out := &brokenPipe{}
	s := newScreen(out)
	for range 3 {
		s.line("x")
	}
	if !errors.Is(s.err, errPipe) || out.writes != 2 {
		t.Errorf("%v after %d writes", s.err, out.writes)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{"", "\n"},
		{"one", "one\n"},
		{"one two  three", "one two\nthree\n"},
		{"one twos", "one\ntwos\n"},
		{"averylongword x", "averylongword\nx\n"},
	} {
		if got := wrap(c.text, 7); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	for _, sentence := range append(verdict(total(), played()), next) {
		for line := range strings.Lines(wrap(sentence, defaultWidth)) {
			if n := len(strings.TrimSuffix(line, "\n")); n > defaultWidth {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	}
	for line := range strings.Lines(next) {
		if n := len(strings.TrimSuffix(line, "\n")); n > defaultWidth {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}
