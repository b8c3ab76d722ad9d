package ws_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets/ws"
)

// head returns the first bytes of a frame: flags and opcode, and the length in one of its forms.
func head(first byte, form int, n uint64) string {
	switch form {
	case 16:
		return string([]byte{first, 126, byte(n >> 8), byte(n)})
	case 64:
		return string([]byte{first, 127, byte(n >> 56), byte(n >> 48), byte(n >> 40), byte(n >> 32), byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	}
	return string([]byte{first, byte(n)})
}

// closing returns a closing frame.
func closing(code int, reason string) string {
	return head(0x88, 7, uint64(2+len(reason))) + string([]byte{byte(code >> 8), byte(code)}) + reason
}

// read reads all of a stream in parts of some bytes, and describes what it found: "text hello", "binary …", "ping x",
// "close 1000", or the error.
func read(r *ws.Reader, stream string, part int) (found []string) {
	b := []byte(stream)
	for len(b) > 0 {
		chunk := b[:min(part, len(b))]
		b = b[len(chunk):]
		for len(chunk) > 0 {
			n, e, err := r.Next(chunk)
			chunk = chunk[n:]
			switch {
			case err != nil:
				return append(found, err.Error())
			case e == ws.GotMessage && r.Text():
				found = append(found, fmt.Sprintf("text %s", short(r.Content())))
			case e == ws.GotMessage:
				found = append(found, fmt.Sprintf("binary %s", short(r.Content())))
			case e == ws.GotPing:
				found = append(found, fmt.Sprintf("ping %s", short(r.Control())))
			case e == ws.GotPong:
				found = append(found, fmt.Sprintf("pong %s", short(r.Control())))
			case e == ws.GotClose:
				return append(found, fmt.Sprint("close ", r.Code()))
			}
		}
	}
	return found
}

// short is a text as it is, and only the length of a long one.
func short(b []byte) string {
	if len(b) > 40 {
		return fmt.Sprint(len(b), " bytes")
	}
	return string(b)
}

// TestFrames reads what a server may send, and may not (RFC 6455, 5 and 7.4), whole and byte by byte.
func TestFrames(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct{ name, stream, want string }{
		{"empty text", head(0x81, 7, 0), "text "},
		{"text", head(0x81, 7, 5) + "hello", "text hello"},
		{"binary", head(0x82, 7, 2) + "\xff\xfe", "binary \xff\xfe"},
		{"125 bytes", head(0x81, 7, 125) + x(125), "text 125 bytes"},
		{"126 bytes", head(0x81, 16, 126) + x(126), "text 126 bytes"},
		{"65535 bytes", head(0x81, 16, 65535) + x(65535), "text 65535 bytes"},
		{"65536 bytes", head(0x82, 64, 65536) + x(65536), "binary 65536 bytes"},
		{"two messages", head(0x81, 7, 1) + "a" + head(0x81, 7, 1) + "b", "text a, text b"},
		{"fragments", head(0x01, 7, 1) + "a" + head(0x00, 7, 1) + "b" + head(0x80, 7, 1) + "c", "text abc"},
		{"empty fragments", head(0x02, 7, 0) + head(0x00, 7, 0) + head(0x80, 7, 0), "binary "},
		{"control frames between fragments", head(0x01, 7, 1) + "a" + head(0x89, 7, 1) + "p" + head(0x8a, 7, 1) + "q" + head(0x80, 7, 1) + "c", "ping p, pong q, text ac"},
		{"ping of 125 bytes", head(0x89, 7, 125) + x(125), "ping 125 bytes"},
		{"unasked pong", head(0x8a, 7, 0) + head(0x81, 7, 1) + "a", "pong , text a"},
		{"close without a code", head(0x88, 7, 0), "close 1005"},
		{"close", closing(1000, "bye"), "close 1000"},
		{"close in a message", head(0x01, 7, 1) + "a" + closing(1011, ""), "close 1011"},
		{"close of an application", closing(4999, "ä"), "close 4999"},
		{"nothing is read after close", closing(1001, "") + head(0x81, 7, 1) + "a", "close 1001"},
		{"character cut by fragments", head(0x01, 7, 1) + "\xe2" + head(0x00, 7, 1) + "\x82" + head(0x80, 7, 1) + "\xac", "text €"},
		{"ping inside of a character", head(0x01, 7, 2) + "a\xe2" + head(0x89, 7, 0) + head(0x80, 7, 2) + "\x82\xac", "ping , text a€"},

		{"reserved bit 1", head(0xc1, 7, 1) + "a", "a frame has a reserved bit or opcode"},
		{"reserved bit 2", head(0xa1, 7, 1) + "a", "a frame has a reserved bit or opcode"},
		{"reserved bit 3 of a ping", head(0x99, 7, 0), "a frame has a reserved bit or opcode"},
		{"masked", head(0x81, 7, 0x80|1) + "keyy" + "a", "a frame of the server is masked"},
		{"masked ping", head(0x89, 7, 0x80) + "keyy", "a frame of the server is masked"},
		{"fragmented ping", head(0x09, 7, 0), "a control frame is fragmented, or longer than 125 bytes"},
		{"fragmented close", head(0x08, 7, 0), "a control frame is fragmented, or longer than 125 bytes"},
		{"long ping", head(0x89, 16, 126) + x(126), "a control frame is fragmented, or longer than 125 bytes"},
		{"very long close", head(0x88, 64, 1<<40), "a control frame is fragmented, or longer than 125 bytes"},
		{"short length in 16 bits", head(0x81, 16, 125) + x(125), "the length of a frame is malformed"},
		{"short length in 64 bits", head(0x81, 64, 65535) + x(65535), "the length of a frame is malformed"},
		{"negative length", head(0x82, 64, 1<<63), "the length of a frame is malformed"},
		{"continuation of nothing", head(0x80, 7, 1) + "a", "a fragment belongs to no message"},
		{"continuation after the end", head(0x81, 7, 1) + "a" + head(0x00, 7, 1) + "b", "text a, a fragment belongs to no message"},
		{"message in a message", head(0x01, 7, 1) + "a" + head(0x81, 7, 1) + "b", "a message begins in another one"},
		{"close with half a code", head(0x88, 7, 1) + "\x03", "a closing frame has a code that may not be sent"},
		{"close with a reason that is not UTF-8", closing(1000, "\xff"), "a text is not UTF-8"},
		{"close with half a character", closing(1000, "\xe2\x82"), "a text is not UTF-8"},
		{"text that is not UTF-8", head(0x81, 7, 2) + "a\xff", "a text is not UTF-8"},
		{"overlong character", head(0x81, 7, 2) + "\xc0\x80", "a text is not UTF-8"},
		{"half of a pair of UTF-16", head(0x81, 7, 3) + "\xed\xa0\x80", "a text is not UTF-8"},
		{"above the last character", head(0x81, 7, 4) + "\xf4\x90\x80\x80", "a text is not UTF-8"},
		{"text that ends in a character", head(0x81, 7, 2) + "\xe2\x82", "a text is not UTF-8"},
		{"character cut by a message", head(0x01, 7, 1) + "\xe2" + head(0x80, 7, 1) + "a", "a text is not UTF-8"},
		{"seen at once", head(0x01, 7, 1) + "\xff" + head(0x00, 64, 1<<40), "a text is not UTF-8"},
		{"message of too many bytes", head(0x82, 64, 1<<20+1), "the message is longer than the limit"},
		{"fragments of too many bytes", head(0x02, 64, 1<<20) + x(1<<20) + head(0x80, 7, 1), "the message is longer than the limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, part := range []int{1, 2, 7, 1 << 22} {
				r := &ws.Reader{Limit: 1 << 20, Keep: 1 << 17}
				if got := strings.Join(read(r, c.stream, part), ", "); got != c.want {
					t.Errorf("in parts of %d: %.200s, want %s", part, got, c.want)
				}
			}
		})
	}
	for op := range byte(16) {
		if op > 2 && op < 8 || op > 10 {
			if got := read(&ws.Reader{}, head(0x80|op, 7, 0), 9); len(got) != 1 || got[0] != "a frame has a reserved bit or opcode" {
				t.Errorf("opcode %d: %v", op, got)
			}
		}
	}
}

// TestCloseCodes: which codes a peer may send (RFC 6455, 7.4, and the registry).
func TestCloseCodes(t *testing.T) {
	for code := range 5100 {
		good := code >= 1000 && code < 1004 || code > 1006 && code < 1015 || code >= 3000 && code < 5000
		got := read(&ws.Reader{}, closing(code, ""), 9)
		if want := fmt.Sprint("close ", code); (got[0] == want) != good {
			t.Errorf("%d: %v", code, got)
		}
	}
	for err, code := range map[ws.Error]int{ws.ErrTooLong: 1009, ws.ErrUTF8: 1007, "": 1002} {
		if err.CloseCode() != code {
			t.Errorf("%v: %d", err, err.CloseCode())
		}
	}
}

// TestRoundTrip: what one side writes the other reads, in both directions, and an error stays.
func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 125, 126, 65535, 65536, 200_000} {
		payload := bytes.Repeat([]byte("ab€"), n/5+1)[:n]
		filled := func(b []byte) []byte { return append(b, payload...) }
		for _, key := range []ws.Key{0, ws.NewKey()} {
			frame := ws.AppendFrame([]byte("x"), ws.Binary, payload, key)
			if again := ws.AppendFilled([]byte("x"), ws.Binary, filled, key); !bytes.Equal(frame, again) {
				t.Errorf("%d bytes: filled is another frame", n)
			}
			if key != 0 && n > 8 && bytes.Contains(frame, payload) {
				t.Errorf("%d bytes are not masked", n)
			}
			for _, part := range []int{1, 3, 1 << 20} {
				r := &ws.Reader{Masked: key != 0, Keep: n}
				if got := read(r, string(frame[1:]), part); len(got) != 1 || !bytes.Equal(r.Content(), payload) || r.Length() != int64(n) || r.Begun() {
					t.Errorf("%d bytes in parts of %d: %.100q", n, part, got)
				}
			}
		}
	}
	r := &ws.Reader{Masked: true}
	_, _, first := r.Next([]byte(head(0x81, 7, 1) + "a"))
	_, _, second := r.Next([]byte("a"))
	if broken, ok := errors.AsType[ws.Error](first); !ok || broken.CloseCode() != ws.BadProtocol || !errors.Is(second, first) {
		t.Errorf("%v, %v", first, second)
	}
	if got := ws.Accept("dGhlIHNhbXBsZSBub25jZQ=="); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" { // of RFC 6455, 1.3
		t.Error(got)
	}
}

// TestBoundedMemory: a reader makes no room for what is only announced, nor for what nobody wants.
func TestBoundedMemory(t *testing.T) {
	chunk := make([]byte, 1<<16)
	n := testing.AllocsPerRun(10, func() {
		r := ws.Reader{Keep: 16}
		_, _, _ = r.Next([]byte(head(0x02, 64, 1<<50)))
		for range 100 {
			_, _, _ = r.Next(chunk)
		}
		if cap(r.Content()) > 64 || !r.Begun() {
			t.Fatal(cap(r.Content()))
		}
	})
	if n > 3 {
		t.Errorf("%v allocations", n)
	}
}

// TestRelease: a long message leaves no memory behind, and a message that has begun is not cut.
func TestRelease(t *testing.T) {
	r := &ws.Reader{Keep: 1 << 20}
	read(r, head(0x82, 64, 1<<20)+strings.Repeat("x", 1<<20), 1<<22)
	if len(r.Content()) != 1<<20 {
		t.Fatal(len(r.Content()))
	}
	if r.Release(); cap(r.Content()) > 0 {
		t.Errorf("%d bytes are kept", cap(r.Content()))
	}
	read(r, head(0x01, 7, 2)+"he", 9)
	r.Release()
	if got := read(r, head(0x80, 7, 3)+"llo", 9); len(got) != 1 || got[0] != "text hello" {
		t.Error(got)
	}
}

// FuzzReader: however a stream is cut, the same is found, nothing panics, and memory is bounded.
func FuzzReader(f *testing.F) {
	f.Add([]byte(head(0x01, 7, 1)+"\xe2"+head(0x89, 7, 1)+"p"+head(0x80, 7, 2)+"\x82\xac"+closing(1000, "bye")), uint8(1), false)
	f.Add(ws.AppendFrame(nil, ws.Text, []byte("hello"), 7), uint8(3), true)
	f.Fuzz(func(t *testing.T, b []byte, part uint8, masked bool) {
		whole, cut := &ws.Reader{Masked: masked, Limit: 1000, Keep: 100}, &ws.Reader{Masked: masked, Limit: 1000, Keep: 100}
		one := read(whole, string(b), len(b)+1)
		other := read(cut, string(b), int(part)+1)
		if strings.Join(one, "|") != strings.Join(other, "|") || len(whole.Content()) > 100 || len(whole.Control()) > ws.MostControl {
			t.Errorf("%q, %q", one, other)
		}
	})
}
