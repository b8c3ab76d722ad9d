package report

import (
	"fmt"
	"strings"
)

// unspoken are the classes of errors that a server leaves behind which speaks another protocol: it hangs up, or answers with something else.
func unspoken() []string { return []string{"protocol", "eof", "reset", "tls"} }

// unanswered is a note for a run none of whose requests got an answer of HTTP/1.1, where that looks like a wrong scheme in the URL.
func (r *Report) unanswered() {
	var seen []string
	for _, class := range unspoken() {
		if n := r.Errors[class]; n > 0 {
			seen = append(seen, fmt.Sprintf("%s: %d", class, n))
		}
	}
	if len(r.StatusCodes) > 0 || len(seen) == 0 {
		return
	}
	r.Notes = append(r.Notes, fmt.Sprintf("no request got an answer of HTTP/1.1 (%s): write https:// in --url if the port speaks TLS, and http:// if it does not; "+
		"HTTP/2 without TLS (h2c), as for gRPC, is not supported", strings.Join(seen, ", ")))
}
