package report

import (
	"fmt"
	"slices"
	"strings"
)

// unspoken returns the error classes caused by a server that speaks another protocol: it closes the connection, or
// answers something else.
func unspoken() []string { return []string{"protocol", "eof", "reset", "tls"} }

// unanswered adds a note if no request got an answer of HTTP, and the URL's scheme or the version looks wrong.
func (r *Report) unanswered() {
	var seen []string
	for _, class := range unspoken() {
		if n := r.Errors[class]; n > 0 {
			seen = append(seen, fmt.Sprintf("%s: %d", class, n))
		}
	}
	if len(r.StatusCodes) > 0 || len(seen) == 0 || strings.Contains(r.Described.URL, "://") && !strings.HasPrefix(r.Described.URL, "http") {
		return
	}
	other := "add --http 2 if it speaks HTTP/2 alone, as gRPC servers do"
	if slices.Contains(r.Described.Flags, "--http") {
		other = "leave --http out if it speaks HTTP/1.1 alone"
	}
	r.Notes = append(r.Notes, fmt.Sprintf("no request got an answer of HTTP (%s): write https:// in --url if the port speaks TLS, else http://; %s",
		strings.Join(seen, ", "), other))
}
