package mux

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// errForm says that data is not of the Redis protocol.
var errForm = errors.New("the reply is not of the Redis protocol")

// readReply reads one whole reply or message, unchanged. It allocates only for data that has arrived, not for an
// announced size.
func readReply(r *bufio.Reader) ([]byte, error) {
	var reply bytes.Buffer
	for left := 1; left > 0; left-- {
		head, err := readLine(r, &reply)
		if err != nil {
			return nil, err
		}
		more, body, err := announced(head)
		if err != nil {
			return nil, err
		}
		left += more
		if _, err := io.CopyN(&reply, r, body); err != nil {
			return nil, err
		}
	}
	return reply.Bytes(), nil
}

// readLine copies a line, and returns it without its end.
func readLine(r *bufio.Reader, to *bytes.Buffer) ([]byte, error) {
	from := to.Len()
	for {
		part, err := r.ReadSlice('\n')
		to.Write(part)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
	line := to.Bytes()[from:]
	if len(line) < len("+\r\n") || line[len(line)-2] != '\r' {
		return nil, errForm
	}
	return line[:len(line)-2], nil
}

// announced returns what a line announces: a number of elements, or a number of bytes.
func announced(head []byte) (elements int, body int64, err error) {
	switch head[0] {
	case '$', '=', '!', '*', '~', '>', '%', '|':
	default:
		return 0, 0, nil
	}
	n, err := strconv.ParseInt(string(head[1:]), 10, 32)
	if err != nil || n < -1 {
		return 0, 0, fmt.Errorf("%w: %.20q", errForm, head)
	}
	if n < 0 {
		return 0, 0, nil
	}
	switch head[0] {
	case '$', '=', '!':
		return 0, n + 2, nil
	case '%':
		return int(2 * n), 0, nil
	case '|': // an attribute precedes an element and is none
		return int(2*n) + 1, 0, nil
	default:
		return int(n), 0, nil
	}
}

// parsePush splits a push into its elements; elements that are no strings become empty.
func parsePush(frame []byte) ([][]byte, error) {
	var parts [][]byte
	_, rest, _ := bytes.Cut(frame, []byte("\r\n"))
	for len(rest) > 0 {
		head, after, _ := bytes.Cut(rest, []byte("\r\n"))
		_, body, err := announced(head)
		if err != nil || int64(len(after)) < body {
			return nil, errForm
		}
		if head[0] == '+' {
			parts = append(parts, head[1:])
		} else {
			parts = append(parts, after[:max(0, body-2)])
		}
		rest = after[body:]
	}
	if len(parts) == 0 {
		return nil, errForm
	}
	return parts, nil
}

// countRequests counts the requests in b, and reports whether the last one is whole.
func countRequests(b []byte) (n int, whole bool, err error) {
	for len(b) > 0 {
		parts, rest, ok, err := requestLine(b, '*')
		if err != nil || !ok {
			return n, false, err
		}
		for range parts {
			size, after, ok, err := requestLine(rest, '$')
			if err != nil || !ok || len(after) < size+2 {
				return n, false, err
			}
			rest = after[size+2:]
		}
		b = rest
		n++
	}
	return n, n > 0, nil
}

// requestLine parses the number in a line that begins with kind.
func requestLine(b []byte, kind byte) (n int, rest []byte, whole bool, err error) {
	line, rest, whole := bytes.Cut(b, []byte("\r\n"))
	if !whole {
		return 0, nil, false, nil
	}
	if len(line) > 1 && line[0] == kind {
		if n, err := strconv.ParseUint(string(line[1:]), 10, 32); err == nil {
			return int(n), rest, true, nil
		}
	}
	return 0, nil, false, fmt.Errorf("write to Redis: %.20q begins no request", b)
}
