package targets

import (
	"strings"
	"testing"
)

// hidden is for tests: nothing may show it.
const hidden = "hunter2"

// TestDiffAuth: specs differ by their setting, and secrets are not shown.
func TestDiffAuth(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"", "bearer:@f", "auth: none there, bearer:@f here"},
		{"bearer:@f", "bearer:@f", ""},
		{"basic:a:" + hidden, "basic:b:" + hidden, "user or password of auth differs"},
		{"basic:a:" + hidden, "bearer:@env:A", "auth: basic:[redacted] there, bearer:@env:A here"},
	} {
		if got := strings.Join((Spec{URL: "http://h/", Auth: c.a}).Diff(Spec{URL: "http://h/", Auth: c.b}), "; "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestCredentialSet: a value that would end the line of a header is refused, and the old one stays.
func TestCredentialSet(t *testing.T) {
	var c Credential
	if err := c.Set("Bearer x"); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"", "a\r\nX: " + hidden, hidden + "\n", "a\x00" + hidden, "\x7f" + hidden} {
		if err := c.Set(value); err == nil || strings.Contains(err.Error(), hidden) || *c.Current() != "Bearer x" {
			t.Errorf("%q: %v, and it is %q", value, err, *c.Current())
		}
	}
}
