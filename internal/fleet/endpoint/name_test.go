package endpoint

import (
	"slices"
	"strings"
	"testing"
)

// TestParse asserts that two texts for the same host have the same name.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"api.example.com":                "api.example.com",
		"API.Example.COM.":               "api.example.com",
		"api.example.com:443":            "api.example.com:443",
		"API.:443":                       "api:443",
		"localhost":                      "localhost",
		"my_service-1.internal":          "my_service-1.internal",
		"xn--bcher-kva.example":          "xn--bcher-kva.example",
		"10.0.0.9":                       "10.0.0.9",
		"10.0.0.9:8080":                  "10.0.0.9:8080",
		"::1":                            "[::1]",
		"[::1]":                          "[::1]",
		"[0:0:0:0:0:0:0:1]:80":           "[::1]:80",
		"2001:DB8::A":                    "[2001:db8::a]",
		"[::ffff:10.0.0.9]:80":           "10.0.0.9:80",
		"*":                              "*",
		"*.example.com":                  "*.example.com",
		"*.COM.":                         "*.com",
		"1password.com":                  "1password.com",
		strings.Repeat("a", 63) + ".com": strings.Repeat("a", 63) + ".com",
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%q: %q, error %v, want %q", text, got, err, want)
		}
		if again, err := Parse(got); err != nil || again != got {
			t.Errorf("%q: %q, error %v: a name is not its own name", got, again, err)
		}
		if Host(text) != want {
			t.Errorf("Host(%q) = %q", text, Host(text))
		}
	}
}

// TestHostKeepsWhatIsNoName asserts that a Unix socket stays as it is.
func TestHostKeepsWhatIsNoName(t *testing.T) {
	for _, host := range []string{"unix:/run/App.sock", "[fe80::1%eth0]:80", "bücher.example:80"} {
		if got := Host(host); got != host {
			t.Errorf("%q became %q", host, got)
		}
	}
}

// TestFits asserts which budgets fit a host, the narrowest first.
func TestFits(t *testing.T) {
	for host, want := range map[string][]string{
		"api.example.com:443": {"api.example.com:443", "api.example.com", "*.example.com", "*.com", "*"},
		"api.example.com":     {"api.example.com", "*.example.com", "*.com", "*"},
		"localhost:80":        {"localhost:80", "localhost", "*"},
		"[2001:db8::1]:80":    {"[2001:db8::1]:80", "[2001:db8::1]", "*"},
		"*.example.com":       {"*.example.com", "*.com", "*"},
		"*":                   {"*"},
	} {
		if got := Fits(host); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}
