package wire

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// TestWrongChecks: a run with a wrong check is not created.
func TestWrongChecks(t *testing.T) {
	for want, s := range map[string]targets.Spec{
		`check: "status x": statuses are numbers`:                         {URL: "http://a/", Checks: []string{"status x"}},
		"check: no status of HTTP passes the check; write numbers":        {URL: "http://a/", Checks: []string{"status OK"}},
		"check: no status of HTTP passes":                                 {URL: "http://a/", Checks: []string{"status 200", "status 404,OK"}},
		"expect: contradicts the check of the status":                     {URL: "http://a/", Checks: []string{"status 200"}, Expect: "200"},
		"check: an answer to HEAD has no body":                            {URL: "http://a/", Method: "HEAD", Checks: []string{"size > 1B"}},
		"check: noop has no answers":                                      {URL: "noop://", Checks: []string{"status 200"}},
		`check: "latency < 1s": there is no such check; write status 200`: {URL: "http://a/", Checks: []string{"latency < 1s"}},
	} {
		if err := Validate(s); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
