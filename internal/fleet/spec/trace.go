package spec

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// TraceStandIn stands in TraceURL for the trace id of a request.
const TraceStandIn = "${trace_id}"

// maxTraceURL bounds TraceURL, in bytes.
const maxTraceURL = 2000

// validateTraceURL checks the URL of traces. It has no secrets: everybody who can read the run sees it.
func (s Spec) validateTraceURL() error {
	if s.TraceURL == "" {
		return nil
	}
	const example = "write it as https://grafana.example/trace/" + TraceStandIn
	filled := strings.ReplaceAll(s.TraceURL, TraceStandIn, strings.Repeat("0", 32))
	u, err := url.Parse(filled)
	switch {
	case !s.Target.Traced():
		return errors.New("--trace-url: requests carry no trace id; add --trace, or leave it out")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(s.TraceURL) > maxTraceURL:
		return fmt.Errorf("--trace-url %.80q is not a URL; %s", redacted(s.TraceURL), example)
	case u.User != nil:
		return fmt.Errorf("--trace-url %.80q: a run keeps no secrets, so the URL may have no user and password; leave them out", redacted(s.TraceURL))
	case filled == s.TraceURL:
		return fmt.Errorf("--trace-url %.80q: say where the trace id stands; %s", s.TraceURL, example)
	}
	return nil
}
