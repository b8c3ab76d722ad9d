package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// TestChecksOfTheTarget: the last answer is checked, and the class says which check failed. The answer of a redirect is
// not checked.
func TestChecksOfTheTarget(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/chunked":
			for range 100 {
				io.WriteString(w, strings.Repeat("x", 1000))
				w.(http.Flusher).Flush()
			}
			io.WriteString(w, "the end")
		default:
			w.Header().Set("X-Answer", "42")
			io.WriteString(w, `{"ok": true}`)
		}
	}))
	defer server.Close()
	for _, c := range []struct {
		path   string
		checks []string
		expect string
		class  string
		status int
	}{
		{"/", []string{"status 200", "json ok = true", "header x-answer = 42", "size < 13B", "time < 1m"}, "", "", 200},
		{"/", []string{"size < 12B"}, "", "check size < 12B", 200},
		{"/", []string{"header X-Answer = 43"}, "", "check header X-Answer = 43", 200},
		{"/", []string{"status 201", "json ok = false"}, "", "check status 201", 200},
		{"/", []string{"json ok = true"}, "201", targets.ClassStatus, 200},
		{"/moved", []string{"json ok = true", "status 200"}, "", "", 200},
		{"/chunked", []string{"body has the end", "size > 100kB"}, "", "", 200},
		{"/chunked", []string{"body matches /^x*$/"}, "", "check body matches /^x*$/", 200},
	} {
		s := targets.Spec{URL: server.URL + c.path, Checks: c.checks, Expect: c.expect, Redirects: 1}
		target := open(t, s, targets.Local{})
		for range 2 { // the second answer comes over the same connection
			if out := target.Do(t.Context(), targets.Call{}); out.Class != c.class || out.Status != c.status {
				t.Errorf("%s %q: %+v", c.path, c.checks, out)
			}
		}
	}
}
