package http3

import (
	"errors"
	"io"
	"strings"

	"github.com/quic-go/qpack"

	"github.com/loadctl/loadctl/targets/http1"
)

// A head is what the field section of an answer says.
type head struct {
	code     int // the status; 0 = there is none yet
	sized    bool
	length   int64 // of Content-Length, if sized
	location string
}

// interim reports whether another head follows.
func (h *head) interim() bool { return 0 < h.code && h.code < 200 }

// bodyless reports whether an answer with this status has no body.
func (h *head) bodyless() bool { return h.code == 204 || h.code == 304 }

// redirect reports whether a location belongs to the status.
func (h *head) redirect() bool {
	switch h.code {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// readHead reads the field section of an answer, of at most limit bytes when it is unpacked. It keeps fields if asked to.
func readHead(section []byte, limit int, keep bool) (h head, kept []field, err error) {
	regular := false
	var location string
	err = each(section, limit, func(name, value string) error {
		if strings.HasPrefix(name, ":") {
			if name != ":status" || regular || h.code != 0 {
				return errField
			}
			return h.status(value)
		}
		regular = true
		switch name {
		case "content-length":
			n, ok := digits(value)
			if !ok || h.sized && n != h.length {
				return errLength
			}
			h.sized, h.length = true, n
		case "location":
			location = value
		}
		if keep {
			kept = append(kept, field{name, strings.Clone(value[:min(len(value), longestValue)])})
		}
		return nil
	})
	if err == nil && h.code == 0 {
		err = errStatus
	}
	if h.redirect() {
		h.location = location
	}
	return h, kept, err
}

// status reads the status. An answer that changes the protocol is none of HTTP/3 (RFC 9114, section 4.5).
func (h *head) status(value string) error {
	n, ok := digits(value)
	if !ok || len(value) != 3 || n < 100 || n == 101 {
		return errStatus
	}
	h.code = int(n)
	return nil
}

// readTrailers checks the field section behind a body, and returns its number of fields.
func readTrailers(section []byte, limit int) (n int, err error) {
	err = each(section, limit, func(name, _ string) error {
		if strings.HasPrefix(name, ":") {
			return errField
		}
		n++
		return nil
	})
	return n, err
}

// each calls f for each field of a section, whose names and values are valid. It ends with the first error.
func each(section []byte, limit int, f func(name, value string) error) error {
	next := new(qpack.Decoder).Decode(section)
	size := 0
	for {
		got, err := next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errQPACK
		}
		if size += len(got.Name) + len(got.Value) + 32; size > limit { // RFC 9114, section 4.2.2
			return http1.ErrHead
		}
		if !validName(got.Name) || strings.ContainsAny(got.Value, "\r\n\x00") || ofConnection(got.Name, got.Value) {
			return errField
		}
		if err := f(got.Name, got.Value); err != nil {
			return err
		}
	}
}

// validName reports whether a name can be that of a field: a token in lower case, maybe with a colon before it.
func validName(name string) bool {
	token := strings.TrimPrefix(name, ":")
	return token != "" && !strings.ContainsFunc(token, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || 'A' <= r && r <= 'Z' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
