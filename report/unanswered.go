package report

import (
	"fmt"
	"slices"
	"strings"
)

// unspoken returns the error classes caused by a server that speaks another protocol: it closes the connection, or
// answers something else.
func unspoken() []string { return []string{"protocol", "eof", "reset", "tls"} }

// unanswered adds a note if no request got an answer of its protocol, and the URL's scheme or the version looks wrong.
func (r *Report) unanswered() {
	var seen []string
	other := r.Audit.Failed // of other classes
	for _, class := range unspoken() {
		if n := r.Errors[class]; n > 0 {
			seen, other = append(seen, fmt.Sprintf("%s: %d", class, n)), other-n
		}
	}
	if len(r.StatusCodes) > 0 || len(seen) == 0 {
		return
	}
	classes := strings.Join(seen, ", ")
	switch scheme, _, _ := strings.Cut(r.Described.URL, "://"); {
	case scheme == r.Described.URL, strings.HasPrefix(scheme, "http"):
		r.note("no request got an answer of HTTP (%s): write https:// in --url if the port speaks TLS, else http://%s", classes, r.otherVersion(scheme))
	case r.Audit.Completed > 0 || other > 0:
	case scheme == "grpc", scheme == "grpcs":
		r.note("no request got an answer of gRPC (%s): check the port in --url; write grpcs:// if it speaks TLS, else grpc://", classes)
	case scheme == "ws", scheme == "wss":
		r.note("no request got an answer of WebSocket (%s): check the port in --url; write wss:// if it speaks TLS, else ws://", classes)
	case scheme == "redis", scheme == "rediss":
		r.note("no request got an answer of a Redis (%s): check the port in --url; write rediss:// if it speaks TLS, else redis://", classes)
	}
}

// otherVersion says which version of HTTP to try; "" if the server has chosen it.
func (r *Report) otherVersion(scheme string) string {
	version := ""
	if i := slices.Index(r.Described.Flags, "--http") + 1; i > 0 && i < len(r.Described.Flags) {
		version = r.Described.Flags[i]
	}
	const alone = " if it speaks HTTP/2 alone, as gRPC servers do"
	switch {
	case version == "":
		return "; add --http 2" + alone
	case version == "2", version == "3":
		return "; leave --http out if it speaks HTTP/1.1 alone"
	case version == "auto" && scheme == "https":
		return ""
	}
	return "; give --http 2 in place of " + version + alone // without TLS auto is 1.1
}

// unmade adds a note if messages could not be made.
func (r *Report) unmade() {
	if n := r.Errors["request"]; n > 0 {
		r.note("%d requests were not sent (request): what filled the placeholders of their message does not fit its fields, such as a text in place of a number", n)
	}
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}
