package prepare

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/cli/clitest"
	"github.com/loadctl/loadctl/internal/console/doctor"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// examine runs doctor as JSON, and checks its output against the published schema, its exit code and its stderr.
func examine(t *testing.T, args ...string) diagnosis {
	t.Helper()
	stdout, stderr, code := execute(append([]string{"doctor", "-o", "json"}, args...)...)
	var d diagnosis
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil || decoder.More() {
		t.Fatalf("%v in %q; stderr %q", err, stdout, stderr)
	}
	if err := fits(t, stdout); err != nil {
		t.Errorf("%v in %s", err, stdout)
	}
	n := doctor.Problems(d.Findings)
	switch {
	case d.OK != (n == 0):
		t.Errorf("ok is %t with %d problems", d.OK, n)
	case d.OK && (code != cli.CodeGood || stderr != ""):
		t.Errorf("exit code %d, %q, and nothing is bad", code, stderr)
	case !d.OK && (code != cli.CodeConfig || !strings.HasPrefix(stderr, fmt.Sprintf("error: doctor found %d problem", n)) || strings.Count(stderr, "\n") != 1):
		t.Errorf("exit code %d, %q, and %d problems", code, stderr, n)
	}
	if strings.Contains(stdout+stderr, secret) {
		t.Errorf("the secret is shown: %s%s", stdout, stderr)
	}
	return d
}

// fits checks a document against the published schema.
func fits(t *testing.T, text string) error {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../../docs/schema/doctor.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(document)
}

// finding returns the finding of a check.
func (d diagnosis) finding(t *testing.T, check string) doctor.Finding {
	t.Helper()
	i := slices.IndexFunc(d.Findings, func(f doctor.Finding) bool { return f.Check == check })
	if i < 0 {
		t.Fatalf("no finding %q in %+v", check, d.Findings)
	}
	return d.Findings[i]
}

func TestDoctorOfAGoodServer(t *testing.T) {
	server := redistest.Start(t, "--requirepass", secret)
	t.Setenv("LOADCTL_REDIS", "redis://:"+secret+"@"+server.Addr())
	d := examine(t, "--max-connections", "10")
	if f := d.finding(t, "scripts"); !d.OK || f.State != doctor.OK {
		t.Errorf("%+v", d)
	}
	text, stderr, code := execute("doctor", "--max-connections", "10")
	if code != cli.CodeGood || stderr != "" || strings.Contains(text, secret) {
		t.Errorf("exit code %d, %q, %q", code, text, stderr)
	}
	// Mark, check and finding are columns; the advice is below the finding.
	for _, want := range []string{
		"ok    reachable    " + server.Addr() + "\n",
		"warn  persistence  none: a restart of the server loses all runs and reports\n" +
			"                     redis-cli CONFIG SET appendonly yes\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\ndoes not have\n%s", text, want)
		}
	}
}

func TestDoctorFindsProblems(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "right", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	t.Setenv("LOADCTL_REDIS", "redis://:right@"+server.Addr())
	if f := examine(t, "--max-connections", "10").finding(t, "eviction"); f.State != doctor.Bad {
		t.Errorf("%+v", f)
	}
	text, stderr, code := execute("doctor", "--max-connections", "10")
	if code != cli.CodeConfig || stderr != "error: doctor found 1 problem; fix it and run doctor again\n" || !regexp.MustCompile(`(?m)^BAD +eviction `).MatchString(text) {
		t.Errorf("exit code %d, %q, %q", code, text, stderr)
	}
	d := examine(t, "--max-connections", "1000000")
	if d.finding(t, "descriptors").State == doctor.OK && d.finding(t, "local ports").State == doctor.OK {
		t.Errorf("a million connections are no problem here: %+v", d)
	}
}

// TestDoctorExpectsWorkers: a server without room for the fleet is bad, with advice, as text and as JSON.
func TestDoctorExpectsWorkers(t *testing.T) {
	server := redistest.Start(t, "--maxclients", "64", "--appendonly", "yes")
	t.Setenv("LOADCTL_REDIS", server.URL())
	if f := examine(t, "--max-connections", "10", "--expect-workers", "10").finding(t, "connections"); f.State != doctor.OK {
		t.Errorf("%+v", f)
	}
	d := examine(t, "--max-connections", "10", "--expect-workers", "3000")
	f := d.finding(t, "connections")
	if f.State != doctor.Bad || !strings.Contains(f.Found, "3000 workers are expected") || !strings.Contains(f.Mend, "redis-cli CONFIG SET maxclients 30") {
		t.Errorf("%+v", f)
	}
	d.finding(t, "redis descriptors")
	text, _, code := execute("doctor", "--max-connections", "10", "--expect-workers", "3000")
	if code != cli.CodeConfig || !regexp.MustCompile(`(?m)^BAD +connections `).MatchString(text) {
		t.Errorf("exit code %d, %q", code, text)
	}
	clitest.Refused(t, newRootCommand(), []string{"doctor", "--expect-workers", "-1"}, "--expect-workers")
}

// TestDoctorWithoutAServer: the machine is checked even without a server.
func TestDoctorWithoutAServer(t *testing.T) {
	right := redistest.Start(t, "--requirepass", "right")
	closed := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	for _, c := range []struct{ address, state, found, mend string }{
		{"", doctor.Warn, "no Redis given, so none was checked", "--redis redis://host:port"},
		{"redis://:" + secret + "@" + closed, doctor.Bad, "refused", "check --redis"},
		{"redis://:" + secret + "@" + right.Addr(), doctor.Bad, "WRONGPASS", "password"},
		{"redis://:12/" + secret + "@" + closed, doctor.Bad, "read the Redis URL", "check --redis"},
	} {
		t.Setenv("LOADCTL_REDIS", c.address)
		d := examine(t, "--max-connections", "10")
		f := d.finding(t, "reachable")
		if f.State != c.state || !strings.Contains(f.Found, c.found) || !strings.Contains(f.Mend, c.mend) {
			t.Errorf("%s: %+v", c.address, f)
		}
		d.finding(t, "descriptors")
		d.finding(t, "cores")
	}
}

// TestDoctorOfAHangingServer: the examination ends, in acceptance in its time, and names the server.
func TestDoctorOfAHangingServer(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("LOADCTL_REDIS", server.URL())
	server.Pause()
	began := time.Now()
	if f := examine(t, "--max-connections", "10").finding(t, "reachable"); f.State != doctor.Bad {
		t.Errorf("%+v", f)
	}
	await.Soon(t, "the examination", time.Since(began), doctorTime+2*time.Second)
}

func TestDoctorRefuses(t *testing.T) {
	t.Setenv("LOADCTL_REDIS", "")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"x"}, "url: is not a URL"},
		{[]string{"http://h", "http://h"}, "usage: loadctl doctor"},
		{[]string{"http://h", "--url", "http://h"}, "--url: is given twice"},
		{[]string{"--http", "2"}, "--url: give what to request"},
		{[]string{"--cert", "x"}, "--url: give what to request"},
		{[]string{"http://h", "--streams", "2"}, "streams: HTTP/1.1 carries one request at a time"},
		{[]string{"tcp://h:1", "-H", "a: b", "-d", "x"}, "header: tcp has none"},
		{[]string{"http://h", "--qps", "5"}, "unknown flag: --qps"},
		{[]string{"-o", "xml"}, "--output"},
		{[]string{"--max-connections", "0"}, "--max-connections: give a number from 1"},
		{[]string{"--max-connections", "1000001"}, "--max-connections: give a number from 1"},
		{[]string{"--max-connections", "many"}, "--max-connections"},
	} {
		clitest.Refused(t, newRootCommand(), append([]string{"doctor"}, c.args...), c.says)
	}
}

// TestDoctorSchema: the schema refuses output that the command never prints.
func TestDoctorSchema(t *testing.T) {
	const good = `{"check": "x", "state": "ok", "found": "f"}`
	const evil = `{"check": "x", "state": "bad", "found": "f", "mend": "m"}`
	for text, want := range map[string]bool{
		`{"ok": true, "findings": [` + good + `]}`:                                                true,
		`{"ok": false, "findings": [` + good + `, ` + evil + `]}`:                                 true,
		`{"ok": true, "findings": [` + evil + `]}`:                                                false,
		`{"ok": false, "findings": [` + good + `]}`:                                               false,
		`{"ok": true, "findings": []}`:                                                            false,
		`{"findings": [` + good + `]}`:                                                            false,
		`{"ok": true, "findings": [{"check": "x", "state": "fine", "found": "f"}]}`:               false,
		`{"ok": false, "findings": [{"check": "x", "state": "bad", "found": "nothing to mend"}]}`: false,
	} {
		if err := fits(t, text); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
