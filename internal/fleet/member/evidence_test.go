package member

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// TestURLOf: the URL of a sample is where its request went, and has no user and no secrets.
func TestURLOf(t *testing.T) {
	for _, c := range []struct{ template, start, host, scheme, want string }{
		{"http://u:p@h:8080/a/${ordinal}?token=x", "GET /a/7?token=redacted HTTP/1.1", "h:8080", "http", "http://h:8080/a/7?token=redacted"},
		{"http://h/login", "GET /next HTTP/1.1", "other:1", "https", "https://other:1/next"}, // after a redirect
		{"https://h/a", "GET /a HTTP/2", "name", "https", "https://name/a"},
		{"grpc://h:1/s.S/M", "POST /s.S/M HTTP/2", "", "http", "grpc://h:1/s.S/M"},
		{"redis://u:p@h:6379/1", "", "", "", "redis://redacted@h:6379/1"},
		{"tcp://h:1", "", "", "", "tcp://h:1"},
		{"own://u:p@h:1/${ordinal}", "own://redacted@h:1/7", "", "", "own://redacted@h:1/7"},
		{"Own://h/a", "own://h/a", "", "", "own://h/a"},
		{"http://h/login", "GET /login?next=http://x HTTP/1.1", "h", "http", "http://h/login?next=http://x"},
	} {
		x := &targets.Exchange{Scheme: c.scheme, Sent: targets.Message{Start: c.start}}
		if c.host != "" {
			x.Sent.Headers = []targets.Header{{Name: "Host", Value: c.host}}
		}
		if got := urlOf(c.template, x); got != c.want {
			t.Errorf("%s after %s: %s, want %s", c.template, c.start, got, c.want)
		}
	}
}

// TestPooled: steps beyond those that are counted apart are one, as in the counts.
func TestPooled(t *testing.T) {
	names := []string{"a", "a"}
	for i := range 40 {
		names = append(names, fmt.Sprint("step-", i))
	}
	got := pooled(slices.Clone(names))
	if n := len(slices.Compact(slices.Sorted(slices.Values(got)))); n != record.MaxSteps+1 || got[1] != "a" || got[41] != record.OtherStep {
		t.Errorf("%d names: %v", n, got)
	}
}

// TestEvidence: what a run says is kept, and of which steps.
func TestEvidence(t *testing.T) {
	flows := []targets.Flow{{Name: "buy", Steps: []targets.Step{{Name: "a", URL: "http://h/a"}, {Name: "b", URL: "http://h/b"}}}, {Name: "look", Steps: []targets.Step{{Name: "c", URL: "http://h/c"}}}}
	for _, c := range []struct {
		spec spec.Spec
		body int
	}{
		{spec.Spec{}, spec.DefaultSampleBody}, {spec.Spec{SampleBody: spec.NoSampleBody}, 0}, {spec.Spec{SampleBody: 5}, 5}, {spec.Spec{Sample: spec.SampleMeta}, -1},
	} {
		c.spec.Target.Flows = flows
		e := Evidence(c.spec, targets.Local{})
		if e.Body != c.body || fmt.Sprint(e.Steps, e.Flows) != "[a b c] [buy buy look]" {
			t.Errorf("%+v: %+v", c.spec.Sample, e)
		}
	}
	if e := Evidence(spec.Spec{Sample: spec.SampleNone}, targets.Local{}); e != nil {
		t.Errorf("%+v", e)
	}
}

// TestEvidenceHidesTheRowOfItsFlow: the cells of the row that a flow has are secrets, also if its number is another one.
func TestEvidenceHidesTheRowOfItsFlow(t *testing.T) {
	table, err := rows.Read("users.csv", []byte("password\npw-of-ann\npw-of-bo\npw-of-cy\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := spec.Spec{Target: targets.Spec{URL: "http://h/", Body: []byte("${users.password}"), Data: []rows.Source{{
		Name: "users", Pick: rows.Cycle, Columns: table.Columns(), Rows: table.Rows(), SHA256: table.SHA256(), Bytes: table.Bytes()}}}}
	e, session := Evidence(s, targets.Local{Tables: targets.Tables{table.SHA256(): table}}), new(targets.Session)
	session.SetRow(2)
	x := &targets.Exchange{Came: targets.Message{Start: "HTTP/1.1 200 OK", Body: []byte("hello pw-of-cy"), Length: 14}}
	if e.Redact(x, targets.Call{Number: 1, Session: session}); strings.Contains(string(x.Came.Body), "pw-of-cy") {
		t.Errorf("kept %q", x.Came.Body)
	}
}
