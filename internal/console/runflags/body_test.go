package runflags

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/targets"
)

// TestContentType: a body is sent with the type that it looks like, unless a header says which it has.
func TestContentType(t *testing.T) {
	const (
		json  = "application/json"
		form  = "application/x-www-form-urlencoded"
		octet = "application/octet-stream"
	)
	for body, want := range map[string]string{
		`{"a":${ordinal}}`: json, "a=${random 1 9}&b=${uuid}": form, "${ordinal}": octet, `{"a":${x}}`: octet,
		`{"a":1}`: json, " [1, 2]\n": json, `[]`: json, "{}": json,
		`{"a":1`: octet, "5": octet, `"text"`: octet, "null": octet, "{}{}": octet, " \n ": octet,
		"a=1": form, "a=1&b=2": form, "a=": form, "a[]=x%20y&b.c-d=%3D+z": form, "user=me@example.com&at=10:30": form,
		"a": octet, "=1": octet, "a=1&": octet, "a=1&&b=2": octet, "a=b=c": octet, "a=1 b=2": octet, "a=1\n": octet, "a=ä": octet, "text": octet, "\x00\xff": octet,
		"<a b=\"c\"/>": octet, "YWJj==": octet,
	} {
		if got := contentType(targets.Spec{Body: []byte(body)}.ExampleBody()); got != want {
			t.Errorf("%q: %s, want %s", body, got, want)
		}
	}
}

// TestTypedBody: the type comes with -d and with -D, and a given one stays as it is.
func TestTypedBody(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string // the values of Content-Type
	}{
		{[]string{"-d", `{"a":1}`}, []string{"application/json"}},
		{[]string{"-d", "a=b"}, []string{"application/x-www-form-urlencoded"}},
		{[]string{"-D", "body.go"}, []string{"application/octet-stream"}},
		{[]string{"-d", `{"a":1}`, "-H", "content-type: application/vnd.api+json"}, []string{"application/vnd.api+json"}},
		{[]string{"-d", `{"a":1}`, "-H", "Content-Type:"}, []string{""}},
		{nil, nil},
	} {
		f := Spec{MinWorkers: 1}
		command := &cobra.Command{}
		f.AddFlags(command)
		if err := command.ParseFlags(append([]string{"--url", "http://127.0.0.1/", "--qps", "1"}, c.args...)); err != nil {
			t.Fatal(err)
		}
		s, err := f.Spec(nil)
		if err != nil {
			t.Fatalf("%q: %v", c.args, err)
		}
		var got []string
		for _, h := range s.Target.Headers {
			got = append(got, h.Value)
		}
		if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
