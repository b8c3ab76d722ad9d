package runflags

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/limit"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
	"github.com/loadctl/loadctl/targets/trace"
)

// read is the spec that a command line describes.
func read(t *testing.T, args []string) spec.Spec {
	t.Helper()
	f := Spec{MinWorkers: 1}
	c := &cobra.Command{}
	f.AddFlags(c)
	if err := c.ParseFlags(args); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	s, err := f.read(strings.NewReader(""))
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return s
}

// drawn is a spec that flags can describe. Which parts it has is drawn.
func drawn(t *testing.T, r *rand.Rand) spec.Spec {
	t.Helper()
	d := dice{r}
	s := spec.Spec{
		Target:      targets.Spec{URL: d.one("http://127.0.0.1:8080/", "https://h/x?y=z&a=%20#f", "http://[::1]/a b"), Timeout: targets.DefaultTimeout},
		QPS:         pacer.Rate{Den: 1},
		MaxLag:      spec.DefaultMaxLag,
		CatchUp:     spec.DefaultCatchUp,
		PermitFor:   spec.DefaultPermitFor,
		MinWorkers:  int64(r.IntN(3)),
		OnRedisLoss: d.one(spec.LossPermit, spec.LossStop, spec.LossHold),
	}
	d.request(&s)
	d.schedule(&s)
	if d.yes() {
		s.MaxLag, s.CatchUp = d.span(time.Millisecond, time.Hour), d.span(0, time.Hour)
	}
	if s.OnRedisLoss != spec.LossPermit {
		s.PermitFor = 0
	} else if d.yes() {
		s.PermitFor = d.span(spec.MinPermitFor, spec.MaxPermitFor)
	}
	if d.yes() {
		s.Deadman = d.span(spec.MinDeadman, spec.MaxDeadman)
	}
	limited(&s, r)
	conditioned(&s, r)
	sampled(&s, r)
	return s
}

// dice draw values of flags.
type dice struct{ *rand.Rand }

func (d dice) one(all ...string) string { return all[d.IntN(len(all))] }

func (d dice) yes() bool { return d.IntN(2) == 0 }

func (d dice) span(least, most time.Duration) time.Duration {
	unit := []time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour}[d.IntN(4)]
	return min(most, max(least, time.Duration(1+d.IntN(90))*unit))
}

// request draws what is sent.
func (d dice) request(s *spec.Spec) {
	target := &s.Target
	target.Method = d.one("", "GET", "POST", "PATCH", "BREW")
	for range d.IntN(4) {
		target.Headers = append(target.Headers, targets.Header{Name: d.one("Accept", "Content-Type", "user-agent", "Range"), Value: d.one("", "a b", "x: y", "'\"$HOME")})
	}
	target.Body = [][]byte{nil, []byte("x=1"), []byte("{\"a\": [1, 2],\n\t\"b\": \"ä 'q'\"}"), []byte("a=1&b=-"), []byte("[]")}[d.IntN(5)]
	if len(target.Body) == 0 {
		target.Body = []byte{}
	}
	if typed := func(h targets.Header) bool { return h.Name == "Content-Type" }; len(target.Body) > 0 && !slices.ContainsFunc(target.Headers, typed) {
		target.Headers = append(target.Headers, targets.Header{Name: "Content-Type", Value: "text/plain"}) // else reading the flags adds one
	}
	if d.yes() {
		target.Timeout = d.span(time.Millisecond, time.Hour)
	}
	target.NoKeepAlive, target.Insecure = d.yes(), d.yes()
	if target.Trace = d.yes(); target.Trace {
		target.TraceSampled = trace.Share(d.IntN(3)) * 12_345
		s.TraceURL = d.one("", "https://grafana.test/explore?q={\"id\":\"${trace_id}\"}")
	}
	if target.HTTP = d.one("", "2", "auto"); target.HTTP != "" && !target.NoKeepAlive {
		target.Streams = []int{0, 2, 100}[d.IntN(3)]
	}
	target.Auth = d.one("", "bearer:@/run/a token", "bearer:@env:TOKEN", "basic:@f", "oauth2:token_url=https://h/t?a=b,client_id=c,client_secret=@s,scope=a b",
		"sigv4:region=r,service=s3,access_key=ID,secret_key=@/run/a key,session_token=@env:T")
	if d.yes() {
		target.ConnectTo = []string{"h:443:127.0.0.1:8443", "::[::1]:80"}[:1+d.IntN(2)]
	} else {
		target.UnixSocket = d.one("", "/tmp/a socket")
	}
	target.Redirects, target.BodyLimit, target.Expect = d.IntN(4), int64(d.IntN(3))*1000, d.one("", "200", "200-204,301")
	target.Checks = [][]string{nil, {"size < 10kB"}, {"time < 1s", `body has "x"`}}[d.IntN(3)]
	target.Stream = d.stream()
	if d.IntN(4) == 0 {
		s.Target = targets.Spec{URL: d.one("ws://h/a?b=c", "wss://h:7/"), Body: []byte("a=1"), Binary: d.yes(), Headers: []targets.Header{{Name: "Accept", Value: "a"}}, Timeout: target.Timeout,
			Reply: d.one("", "any", "messages 4", "matches /^a b$/"), NoKeepAlive: target.NoKeepAlive, ConnectTo: target.ConnectTo, UnixSocket: target.UnixSocket, BodyLimit: target.BodyLimit,
			Stream: events.Options{Kind: d.one("", events.Messages)}}
		return
	}
	if d.IntN(8) == 0 { // a scheme that is not ours
		s.Target = targets.Spec{URL: d.one("own://h:7/a", "OWN://[::1]:7"), Body: []byte("a=1"), Timeout: target.Timeout, ConnectTo: target.ConnectTo, Insecure: target.Insecure,
			Schemes: []targets.Scheme{{Name: "own", Version: d.one("1", "v2.0-x+y"), Port: targets.NoPort, Bare: true}}, Settings: map[string]string{"qos": d.one("1", "", "a=b"), "topic": "a b"}}
		return
	}
	if d.IntN(4) == 0 { // over tcp
		s.Target = targets.Spec{URL: d.one("tcp://h:7", "tcp://[::1]:7"), Body: []byte("a=1"), Timeout: target.Timeout, Reply: d.one("", "any", "bytes 4", `until \r\n`, "matches /^a b$/"),
			NoKeepAlive: target.NoKeepAlive, ConnectTo: target.ConnectTo, UnixSocket: target.UnixSocket, BodyLimit: target.BodyLimit}
	}
}

// stream draws what the events of an answer over HTTP are.
func (d dice) stream() events.Options {
	o := events.Options{Kind: d.one("", events.Lines, events.Chunks, events.SSE)}
	if d.yes() {
		o.Goals = []string{"latency<2s", "service < 1s"}[:1+d.IntN(2)]
	}
	if o.Kind == "" || o.Kind == events.Chunks {
		return o
	}
	o.Until, o.Limit = d.one("", "[DONE]", "/^a b$/"), int64(d.IntN(3))*1000
	if d.yes() {
		o.Goals = append(slices.Clip(o.Goals), "ttft<500ms", "event_gap:p(95)<80ms")
	}
	return o
}

// schedule draws when it is sent.
func (d dice) schedule(s *spec.Spec) {
	rates := []pacer.Rate{{Num: 500, Den: 1}, {Num: 1, Den: 2}, {Num: 1_000_000, Den: 1}, {Num: 7, Den: 3}, {Num: 1, Den: 86400}}
	switch d.IntN(5) {
	case 0:
		s.Max = true
	case 4:
		if s.Max = true; d.yes() {
			s.Stages = []string{"30s:c=8", "2d:c=64"}[:1+d.IntN(2)]
		} else {
			s.Concurrency = 1 + d.Int64N(pacer.MaxConcurrency)
		}
	case 1:
		s.Stages = []string{"30s:200", "1m:2.5k", "0s:30/1m", "2d:0"}[:1+d.IntN(4)]
		s.QPS = append(rates, pacer.Rate{Den: 1})[d.IntN(6)]
	case 2:
		s.Profile = d.one("steps:from=100,to=500,by=100,every=30s", "sine:mean=1k,amplitude=400,period=1m")
	default:
		s.QPS = rates[d.IntN(len(rates))]
	}
	if d.yes() && s.Stages == nil {
		s.Duration = d.span(time.Millisecond, 9000*time.Hour)
	}
	if d.yes() && !s.Max {
		s.Requests = 1 + d.Int64N(1<<40)
	}
	if d.yes() && !s.Max {
		s.Arrivals = fmt.Sprint("poisson:", 1+d.Int64N(1000))
	}
}

// conditioned gives a spec thresholds, if it may have them.
func conditioned(s *spec.Spec, r *rand.Rand) {
	before := *s
	s.Thresholds = []string{"errors:rate<1%", "latency : p(99) < 250ms over 2s abort after 3"}[:r.IntN(3)]
	if len(s.Thresholds) == 0 {
		s.Thresholds = nil
	}
	s.Warmup = time.Duration(r.IntN(3)) * time.Second
	if s.Validate() != nil {
		*s = before
	}
	if r.IntN(2) == 0 {
		s.Prometheus = []string{"http://127.0.0.1:9090", "https://h/prefix/"}[r.IntN(2)]
		s.Queries = []report.Query{{Name: "cpu", PromQL: "max(rate(cpu_seconds{a=\"b c\"}[1m]))"}, {Name: "free-1", PromQL: "a == 1"}}[:1+r.IntN(2)]
		s.QueryStale = []time.Duration{0, 20 * time.Second, 5 * time.Minute}[r.IntN(3)]
	}
}

// sampled gives a spec what workers keep.
func sampled(s *spec.Spec, r *rand.Rand) {
	switch r.IntN(4) {
	case 0:
		s.Sample = []string{spec.SampleMeta, spec.SampleNone}[r.IntN(2)]
	case 1:
		s.SampleBody = []int64{spec.NoSampleBody, 1, spec.MaxSampleBody}[r.IntN(3)]
		s.Redact = []string{"card", "x-customer"}[:1+r.IntN(2)]
	}
}

// limited gives a spec a limiter, if it may have one.
func limited(s *spec.Spec, r *rand.Rand) {
	before := *s
	if s.Max || r.IntN(2) == 0 {
		return
	}
	s.Limiter = limit.Names()[r.IntN(len(limit.Names()))]
	if s.Limiter == spec.SlotsLimiter || r.IntN(2) == 0 {
		s.Burst = int64(100 * (1 + r.IntN(20)))
	}
	if r.IntN(2) == 0 {
		s.Window = time.Duration(1+r.IntN(4)) * time.Second
	}
	s.Together, s.ExpireNX, s.Debt = r.IntN(4) == 0, s.Limiter == "fixed-window" && r.IntN(2) == 0, s.Limiter == "token-bucket" && r.IntN(2) == 0
	if s.Validate() != nil {
		*s = before
	}
}

// TestFlagsDescribeTheRun: from the JSON of a report alone the command line can be had that describes the same run.
func TestFlagsDescribeTheRun(t *testing.T) {
	seen := map[string]bool{}
	r := rand.New(rand.NewPCG(18, 4))
	for range 3000 {
		want := drawn(t, r)
		if want.Validate() != nil {
			continue
		}
		var text bytes.Buffer
		if err := render.JSON(&text, report.Build(report.Input{Described: report.Description{Setting: want.Setting()}})); err != nil {
			t.Fatal(err)
		}
		var rep report.Report
		if err := json.Unmarshal(text.Bytes(), &rep); err != nil {
			t.Fatal(err)
		}
		got := read(t, rep.Described.Flags)
		if !reflect.DeepEqual(got, want) || len(got.Diff(want)) > 0 {
			t.Fatalf("%q\nis   %+v\nwant %+v\n%q", rep.Described.Flags, got, want, got.Diff(want))
		}
		if len(rep.Described.Withheld) > 0 {
			t.Errorf("withheld are %q of %q", rep.Described.Withheld, rep.Described.Flags)
		}
		parts(reflect.ValueOf(want), "", seen)
	}
	// A part that is added later shows here: it needs a flag in internal/fleet/spec/flags.go, and a value in drawn.
	for _, kind := range []struct {
		prefix string
		of     reflect.Type
	}{{"", reflect.TypeFor[spec.Spec]()}, {"Target.", reflect.TypeFor[targets.Spec]()}} {
		for field := range kind.of.Fields() {
			name := kind.prefix + field.Name
			if !seen[name] && !slices.Contains([]string{"Version", "CreatedBy", "Origin", "Target.CA", "Target.Data", "Target.Flows", "Target.Pick", "Target.RateOf", "Target.Cookies", "Target.mix", "Target.taken", "Target.earlier", "Target.takes", "Target.schema", "Target.masked", "Target.Descriptors"}, name) {
				t.Errorf("%s: in no spec that was tried", name)
			}
		}
	}
}

// parts notes which parts of a spec are set.
func parts(v reflect.Value, prefix string, seen map[string]bool) {
	for i := range v.NumField() {
		name := prefix + v.Type().Field(i).Name
		if !v.Field(i).IsZero() {
			seen[name] = true
		}
		if name == "Target" {
			parts(v.Field(i), "Target.", seen)
		}
	}
}

// certificate is one that can be read.
const certificate = "-----BEGIN CERTIFICATE-----\nMIIBfzCCASWgAwIBAgIUJlq3xQ==\n-----END CERTIFICATE-----\n"

// TestFlagsWithholdSecrets: no secret is among the flags, each that is not told is named, and what stands for a file
// says which one it was.
func TestFlagsWithholdSecrets(t *testing.T) {
	for name, body := range map[string]string{
		"long": strings.Repeat("x", 201), "password": `{"password":"s3cr3t"}`, "no text": "\xff\x00s3cr3t", "like a file": "@s3cr3t", "steers": "a=\x1bs3cr3t",
		"no names": "s3cr3t", "a form": "user=ann&pw=s3cr3t", "nothing but a value": `"s3cr3t"`,
	} {
		s := spec.Spec{QPS: pacer.PerSecond(5), MinWorkers: 1, Target: targets.Spec{
			URL: "http://bob:s3cr3t@h/", Auth: "basic:bob:s3cr3t", Body: []byte(body), CA: certificate,
			Headers: []targets.Header{{Name: "Authorization", Value: "s3cr3t"}, {Name: "cookie", Value: "s3cr3t"}, {Name: "X-Api-Key", Value: "s3cr3t"},
				{Name: "Proxy-Authorization", Value: "s3cr3t"}, {Name: "cookie", Value: "s3cr3t"}, {Name: "Accept", Value: "text/plain"}},
		}}
		set := s.Setting()
		all := fmt.Sprint(set)
		if strings.Contains(all, "s3cr3t") || strings.Contains(all, "bob") || !strings.Contains(all, "Accept: text/plain") {
			t.Errorf("%s: %s", name, all)
		}
		want := []string{"--url", "--header Authorization", "--header cookie", "--header X-Api-Key", "--header Proxy-Authorization", "--body-file", "--auth", "--cacert"}
		if !slices.Equal(set.Withheld, want) || set.URL != "http://redacted@h/" || set.Method != "POST" {
			t.Errorf("%s: %+v", name, set)
		}
		for flag, content := range map[string]string{"--body-file": body, "--cacert": certificate} {
			digest := fmt.Sprintf("[%d bytes, SHA-256 %x]", len(content), sha256.Sum256([]byte(content)))
			i := slices.Index(set.Flags, flag)
			if i < 0 || set.Flags[i+1] != digest {
				t.Errorf("%s: no %s in %q", flag, digest, set.Flags)
				continue
			}
			// Nobody fires with a wrong body by accident: there is no such file, until it is given.
			if _, err := os.Stat(set.Flags[i+1]); err == nil {
				t.Errorf("there is a file %s", digest)
			}
			file := filepath.Join(t.TempDir(), "content")
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			set.Flags[i+1] = file
		}
		i := slices.Index(set.Flags, "--auth")
		if i < 0 || set.Flags[i+1] != "basic:[redacted]" {
			t.Fatalf("%s: %q", name, set.Flags)
		}
		set.Flags[i+1] = s.Target.Auth
		f := Spec{MinWorkers: 1}
		c := &cobra.Command{}
		f.AddFlags(c)
		if err := c.ParseFlags(set.Flags); err != nil {
			t.Fatal(err)
		}
		got, _ := f.read(strings.NewReader("")) // the certificate is none
		got.Target.URL, got.Target.Headers = s.Target.URL, s.Target.Headers
		if diff := s.Target.Diff(got.Target); len(diff) > 0 {
			t.Errorf("%s: %q", name, diff)
		}
	}
}
