package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// ownScheme is a scheme that refuses what its settings say.
func ownScheme() targets.Scheme {
	return targets.Scheme{
		Name: "own", Version: "1", Port: targets.NoPort, Bare: true,
		Check: func(s targets.Spec) error {
			if why := s.Settings["refuse"]; why != "" {
				return errors.New(why)
			}
			return nil
		},
		Open: func(targets.Spec, targets.Local) (targets.Sender, error) { return nil, errors.New("no key file") },
	}
}

// TestOwnIsChecked asserts that what a scheme that is not ours cannot have is refused in one line.
func TestOwnIsChecked(t *testing.T) {
	for says, change := range map[string]func(*targets.Spec){
		"":                        func(*targets.Spec) {},
		"names no host and port":  func(s *targets.Spec) { s.URL = "own://h" },
		"method: own has none":    func(s *targets.Spec) { s.Method = "GET" },
		"header: own has none":    func(s *targets.Spec) { s.Headers = []targets.Header{{Name: "A", Value: "b"}} },
		"which statuses are good": func(s *targets.Spec) { s.Expect = "200" },
		"only http and grpc have": func(s *targets.Spec) { s.Checks = []string{"status 200"} },
		"reply:":                  func(s *targets.Spec) { s.Reply = "any" },
		"auth:":                   func(s *targets.Spec) { s.Auth = "bearer:@f" },
		"redirects:":              func(s *targets.Spec) { s.Redirects = 1 },
		"stream:":                 func(s *targets.Spec) { s.Stream = events.Options{Kind: events.Lines} },
		"trace:":                  func(s *targets.Spec) { s.Trace = true },
		"path and query only":     func(s *targets.Spec) { s.URL = "own://${ordinal}:7/" },
		"take another":            func(s *targets.Spec) { s.Settings = map[string]string{"refuse": "take another"} },
		"its version is":          func(s *targets.Spec) { s.Schemes[0].Version = "" },
		"given twice":             func(s *targets.Spec) { s.Schemes = append(s.Schemes, s.Schemes[0]) },
		"set: only":               func(s *targets.Spec) { *s = targets.Spec{URL: "http://h/", Settings: map[string]string{"a": "b"}} },
	} {
		s := targets.Spec{URL: "own://h:7/a/${ordinal}"}.Using([]targets.Scheme{ownScheme()})
		change(&s)
		if err := Validate(s); (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%v, want it to say %q", err, says)
		}
	}
}

// TestOwnMayHaveHeaders asserts that a scheme that says so has methods and headers, with placeholders.
func TestOwnMayHaveHeaders(t *testing.T) {
	k := ownScheme()
	k.Bare, k.Open = false, func(targets.Spec, targets.Local) (targets.Sender, error) { return nil, nil }
	s := targets.Spec{URL: "own://h:7/", Method: "PUT", Headers: []targets.Header{{Name: "A", Value: "b${ordinal}"}}, ConnectTo: []string{"h:7:127.0.0.1:9"}}.Using([]targets.Scheme{k})
	w, err := New(s, targets.Local{})
	if err != nil {
		t.Fatal(err)
	}
	r := w.Asked(targets.Call{Number: 4})
	if r.Method != "PUT" || len(r.Headers) != 1 || r.Headers[0].Value != "b4" || r.Address != "127.0.0.1:9" || r.Network != "tcp" || s.Headers[0].Value != "b${ordinal}" {
		t.Errorf("%+v", r)
	}
	s.ConnectTo, s.UnixSocket = nil, "/s"
	if w, err = New(s, targets.Local{}); err != nil || w.Asked(targets.Call{}).Network != "unix" || w.Asked(targets.Call{}).Address != "/s" {
		t.Errorf("%+v, %v", w, err)
	}
}

// TestOwnMustOpen asserts that a spec whose scheme cannot be opened has no Wire, and that the error says why.
func TestOwnMustOpen(t *testing.T) {
	s := targets.Spec{URL: "own://h:7"}.Using([]targets.Scheme{ownScheme()})
	if _, err := New(s, targets.Local{}); err == nil || !strings.Contains(err.Error(), "open own: no key file") {
		t.Error(err)
	}
	s.Schemes[0].Open = nil
	if _, err := New(s, targets.Local{}); err == nil || !strings.Contains(err.Error(), "own=1, which this program does not have") {
		t.Error(err)
	}
}
