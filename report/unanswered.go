package report

import (
	"fmt"
	"strings"
)

// unspoken returns the error classes caused by a server that speaks another protocol: it closes the connection, or
// answers something else.
func unspoken() []string { return []string{"protocol", "eof", "reset", "tls"} }

// unanswered adds a note if no request got an answer of HTTP/1.1, and the URL's scheme looks wrong.
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
	r.Notes = append(r.Notes, fmt.Sprintf("no request got an HTTP/1.1 answer (%s): write https:// in --url if the port speaks TLS, else http://; "+
		"HTTP/2 without TLS (h2c), as for gRPC, is not supported", strings.Join(seen, ", ")))
}
