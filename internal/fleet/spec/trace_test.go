package spec

import (
	"strings"
	"testing"
)

// TestTraceURL: what cannot link a trace is an error of one line. No secret is shown.
func TestTraceURL(t *testing.T) {
	for url, want := range map[string]string{
		"": "", "https://grafana.test/trace/${trace_id}": "", `http://h/explore?q={"query":"${trace_id}"}&again=${trace_id}`: "",
		"https://grafana.test/trace/":                       "say where the trace id stands",
		"${trace_id}":                                       "is not a URL",
		"javascript:alert('${trace_id}')":                   "is not a URL",
		"https:///${trace_id}":                              "is not a URL",
		"https://h/\n${trace_id}":                           "is not a URL",
		"https://ann:hunter2@h/${trace_id}":                 "may have no user and password",
		"https://h/${trace_id}" + strings.Repeat("x", 2000): "is not a URL",
	} {
		s := constant(5)
		s.Target.URL, s.Target.Trace, s.TraceURL = "http://h/", true, url
		err := s.Validate()
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%.50s: %v, want %q", url, err, want)
		}
	}
	s := constant(5)
	s.Target.URL, s.TraceURL = "http://h/", "https://h/${trace_id}"
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "add --trace") {
		t.Errorf("without traces: %v", err)
	}
	if s.Target.URL += "${trace_id}"; s.Validate() != nil {
		t.Error("a placeholder carries an id too")
	}
}
