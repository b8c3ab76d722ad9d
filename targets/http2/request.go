package http2

import (
	"bytes"
	"errors"
	"slices"
)

// A Request is a request as HTTP/2 sends it: a header block and a body. It is the same for every connection, because it
// uses no table but the static one (RFC 7541, appendix A). Streams only read it, so many can share it.
type Request struct {
	block []byte // encoded, not yet in frames
	body  []byte // of the message
	head  bool   // the method is HEAD

	// LongLived, if not nil, says that the request is a message on a stream that stays open: see Conn.Resume. Encode leaves it
	// alone.
	LongLived *LongLived
}

// errMessage says that a message is not of HTTP/1.1. Messages are ours.
var errMessage = errors.New("encode request: the message is not a request of HTTP/1.1")

// Encode makes r of a message as HTTP/1.1 writes it: head and body. It reuses r's memory. It does not copy the body, so
// the message must stay as it is until no stream uses r. The Host header becomes the authority. Headers that concern one
// connection are left out (RFC 9113, 8.2.2). Names get small letters. The scheme is http or https.
func (r *Request) Encode(scheme string, message []byte) error {
	line, rest, ok := bytes.Cut(message, []byte("\r\n"))
	method, target, more := bytes.Cut(line, []byte(" "))
	path, version, last := bytes.Cut(target, []byte(" "))
	if !ok || !more || !last || len(path) == 0 || string(version) != "HTTP/1.1" {
		return errMessage
	}
	if string(method) == "CONNECT" {
		return errors.New("encode request: HTTP/2 has no CONNECT to a server; use another method")
	}
	r.head = string(method) == "HEAD"
	b := appendPseudo(r.block[:0], scheme, method, path)
	lines, body, ok := bytes.Cut(rest, []byte("\r\n\r\n"))
	if rest, none := bytes.CutPrefix(rest, []byte("\r\n")); none {
		lines, body, ok = nil, rest, true // a head without headers
	}
	if !ok {
		return errMessage
	}
	options := connectionOptions(lines)
	b, err := appendAuthority(b, lines)
	if err != nil {
		return err
	}
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(name) == 0 {
			return errMessage
		}
		value = trim(value)
		if !hopByHop(name, value) && !listed(options, name) {
			b = appendField(b, name, value)
		}
	}
	r.block, r.body = b, body
	return nil
}

// appendPseudo appends method, scheme and path.
func appendPseudo(b []byte, scheme string, method, path []byte) []byte {
	switch string(method) {
	case "GET":
		b = append(b, indexed|2)
	case "POST":
		b = append(b, indexed|3)
	default:
		b = appendString(append(b, 2), method)
	}
	if scheme == "https" {
		b = append(b, indexed|7)
	} else {
		b = append(b, indexed|6)
	}
	if len(path) == 1 && path[0] == '/' {
		return append(b, indexed|4)
	}
	return appendString(append(b, 4), path)
}

// appendAuthority appends the host. Regular headers come after it.
func appendAuthority(b, lines []byte) ([]byte, error) {
	found := false
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte("\r\n"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		if !equalFold(name, "host") {
			continue
		}
		if found {
			return b, errors.New("encode request: there are two Host headers; leave one out")
		}
		found = true
		if value = trim(value); len(value) > 0 {
			b = appendString(append(b, 1), value)
		}
	}
	return b, nil
}

// connectionOptions returns the values of all Connection headers, as a list: names of headers that concern one connection.
func connectionOptions(lines []byte) (options []byte) {
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte("\r\n"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case !equalFold(name, "connection"):
		case options == nil:
			options = value
		default:
			options = slices.Concat(options, []byte(","), value)
		}
	}
	return options
}

// listed reports whether a name is among the options of a Connection header.
func listed(options, name []byte) bool {
	for len(options) > 0 {
		var option []byte
		option, options, _ = bytes.Cut(options, []byte(","))
		if bytes.EqualFold(trim(option), name) {
			return true
		}
	}
	return false
}

// hopByHop reports whether a header of a request has no place in HTTP/2, or another one.
func hopByHop(name, value []byte) bool {
	switch len(name) {
	case len("host"):
		return equalFold(name, "host")
	case len("te"):
		return equalFold(name, "te") && !equalFold(value, "trailers")
	}
	return connectionSpecific(name)
}

// connectionSpecific reports whether a header concerns one connection (RFC 9113, 8.2.2).
func connectionSpecific(name []byte) bool {
	switch len(name) {
	case len("upgrade"):
		return equalFold(name, "upgrade")
	case len("connection"):
		return equalFold(name, "connection") || equalFold(name, "keep-alive")
	case len("http2-settings"):
		return equalFold(name, "http2-settings")
	case len("proxy-connection"):
		return equalFold(name, "proxy-connection")
	case len("transfer-encoding"):
		return equalFold(name, "transfer-encoding")
	}
	return false
}

// trim removes white space at both ends.
func trim(b []byte) []byte { return bytes.Trim(b, " \t") }

// equalFold reports whether b equals lower, ignoring case. lower consists of small letters, digits and hyphens.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
