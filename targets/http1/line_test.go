package http1

import (
	"bytes"
	"strings"
	"testing"
)

// The check of eight bytes at a time agrees with the check of single bytes, for each byte in each place, beside tabs
// and letters with the highest bit.
func TestPrintable(t *testing.T) {
	for n := range 20 {
		for at := range n {
			for _, fill := range []byte{'a', '\t', 0x80, 0xff, ' '} {
				b := bytes.Repeat([]byte{fill}, n)
				for c := range 256 {
					b[at] = byte(c)
					control := c < ' ' && c != '\t' || c == 0x7f
					if got := printable(b); got == control {
						t.Fatalf("%q: printable %v", b, got)
					}
				}
			}
		}
	}
}

func TestTokenLen(t *testing.T) {
	const marks = "!#$%&'*+-.^_`|~"
	const token = marks + "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for c := range 256 {
		b := []byte{'a', byte(c), 'b'}
		want := 1
		if strings.IndexByte(token, byte(c)) >= 0 {
			want = 3
		}
		if got := tokenLen(b); got != want {
			t.Errorf("%q: got %d, want %d", b, got, want)
		}
	}
}

func TestTrim(t *testing.T) {
	for s, want := range map[string]string{"": "", " ": "", "\t \t": "", "a": "a", " a b\t": "a b", "\x0ba\x0b": "\x0ba\x0b"} {
		if got := string(trim([]byte(s))); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}
