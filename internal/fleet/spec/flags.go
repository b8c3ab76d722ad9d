package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/units"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/events"
)

// maxBodyText is the longest body, in bytes, that is shown as it is.
const maxBodyText = 200

// Setting returns the target of the run and the flags that describe it. internal/console/cli has these flags, and its tests
// read them back.
func (s Spec) Setting() report.Setting {
	var f flagList
	if s.Requests == s.Target.Once() {
		s.Requests = 0 // the run ends with the last row in any case
	}
	set := report.Setting{}
	set.Method, set.URL = s.Target.Request()
	if len(s.Target.Flows) > 0 {
		f.withhold(s.file())
		f.add("--targets-pick", cmp.Or(s.Target.Pick, targets.PickCycle), cmp.Or(s.origin().Pick, targets.PickCycle))
		f.add("--rate-of", cmp.Or(s.Target.RateOf, targets.RateOfFlows), cmp.Or(s.origin().RateOf, targets.RateOfFlows))
		s = s.asGiven()
	}
	f.target(s)
	f.schedule(s)
	f.limiter(s)
	f.toMeet(s)
	set.Flags, set.Withheld = f.args, f.withheld
	if set.Withheld == nil {
		set.Withheld = []string{}
	}
	return set
}

// flagList collects arguments.
type flagList struct {
	args, withheld []string
}

// add adds a flag with a value, unless it is the default.
func (f *flagList) add(name, value, normal string) {
	if value != normal {
		f.args = append(f.args, name, value)
	}
}

// set adds a flag that needs no value, if it is on.
func (f *flagList) set(flag string, on bool) {
	if on {
		f.args = append(f.args, flag)
	}
}

// number and time add a flag with such a value.
func (f *flagList) number(name string, n, normal int64) {
	f.add(name, strconv.FormatInt(n, 10), strconv.FormatInt(normal, 10))
}

func (f *flagList) time(name string, d, normal time.Duration) {
	f.add(name, units.Length(d), units.Length(normal))
}

// withhold adds a flag whose value is not shown.
func (f *flagList) withhold(name, instead string) {
	f.args, f.withheld = append(f.args, name, instead), append(f.withheld, name)
}

// digest stands for the content of a file.
func digest(content []byte) string {
	return fmt.Sprintf("[%d bytes, SHA-256 %x]", len(content), sha256.Sum256(content))
}

// target adds what is requested, and how.
func (f *flagList) target(s Spec) {
	t := s.Target
	shown := t.Redacted()
	switch {
	case shown.URL != t.URL:
		f.withhold("--url", shown.URL)
	default:
		f.add("--url", t.URL, "")
	}
	f.own(t, shown.Settings)
	f.add("--method", t.Method, "")
	for i, h := range shown.Headers {
		f.add("--header", h.Name+": "+h.Value, "")
		if name := "--header " + h.Name; h != t.Headers[i] && !slices.Contains(f.withheld, name) {
			f.withheld = append(f.withheld, name)
		}
	}
	switch {
	case len(t.Body) == 0:
	case t.Binary && showable(t):
		f.add("--body-hex", hex.EncodeToString(t.Body), "")
	case showable(t):
		f.add("--body", string(t.Body), "")
	case t.Binary:
		f.withhold("--body-hex", digest(t.Body))
	default:
		f.withhold("--body-file", digest(t.Body))
	}
	f.add("--reply", t.Reply, "")
	f.stream(t.Stream)
	if len(t.Descriptors) > 0 {
		f.withhold("--proto", digest(t.Descriptors))
	}
	for _, d := range t.Data {
		f.args = append(f.args, "--data", shownData(d))
		if !slices.Contains(f.withheld, "--data") {
			f.withheld = append(f.withheld, "--data")
		}
	}
	if shown.Auth != t.Auth {
		f.withhold("--auth", shown.Auth)
	} else {
		f.add("--auth", t.Auth, "")
	}
	f.time("--timeout", cmp.Or(t.Timeout, targets.DefaultTimeout), targets.DefaultTimeout)
	f.add("--http", cmp.Or(t.HTTP, targets.HTTP1), targets.HTTP1)
	f.number("--streams", int64(cmp.Or(t.Streams, 1)), 1)
	f.set("--no-keep-alive", t.NoKeepAlive)
	for i, route := range shown.ConnectTo {
		f.add("--connect-to", route, "")
		if route != t.ConnectTo[i] && !slices.Contains(f.withheld, "--connect-to") {
			f.withheld = append(f.withheld, "--connect-to")
		}
	}
	f.add("--unix-socket", t.UnixSocket, "")
	f.set("--insecure", t.Insecure)
	if t.CA != "" {
		f.withhold("--cacert", digest([]byte(t.CA)))
	}
	f.trace(t, s.origin())
	f.number("--redirects", int64(t.Redirects), 0)
	f.number("--body-limit", t.BodyLimit, 0)
	f.add("--expect", t.Expect, "")
	for _, c := range t.Checks {
		f.add("--check", c, "")
	}
}

// own adds what is known of schemes that are not ours, with the settings as they may be shown.
func (f *flagList) own(t targets.Spec, shown map[string]string) {
	for _, k := range t.Schemes {
		f.add("--scheme", k.String(), "")
	}
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		f.add("--set", name+"="+shown[name], "")
		if shown[name] != t.Settings[name] && !slices.Contains(f.withheld, "--set") {
			f.withheld = append(f.withheld, "--set")
		}
	}
}

// stream adds what the events of answers are, and when an answer is good.
func (f *flagList) stream(o events.Options) {
	f.add("--stream", o.Kind, "")
	f.add("--until", o.Until, "")
	f.number("--stream-limit", o.Limit, 0)
	for _, g := range o.Goals {
		f.add("--goal", g, "")
	}
	f.add("--preset", o.Preset, "")
}

// trace adds whether requests carry a trace context.
func (f *flagList) trace(t targets.Spec, of Origin) {
	f.set("--trace", t.Trace && !of.Trace)
	f.set("--trace=false", !t.Trace && of.Trace)
	f.add("--trace-sampled", t.TraceSampled.String(), of.TraceSampled.String())
}

// showable reports whether a body may be shown: a short text that --body accepts, with named parts as in JSON and in
// forms, and no name that looks like a secret. A text without names is never shown.
func showable(t targets.Spec) bool {
	body, example := t.Body, t.ExampleBody()
	if len(body) > maxBodyText || !utf8.Valid(body) || !form.Match(example) && (!json.Valid(example) || !strings.ContainsAny(string(example[:1]), "{[")) {
		return false
	}
	text := string(body)
	return !targets.SecretName(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' })
}

// form matches the body of an HTML form.
var form = regexp.MustCompile(`^[\w.%+-]+=[^&\s]*(&[\w.%+-]+=[^&\s]*)*$`)

// schedule adds the schedule, and the settings for a lost Redis or controller.
func (f *flagList) schedule(s Spec) {
	switch {
	case s.Concurrency > 0:
		f.number("--concurrency", s.Concurrency, 0)
	case s.Max && !s.Seated() || s.QPS.Num > 0:
		f.add("--qps", s.requestRate(), "")
	}
	f.time("--duration", s.Duration, s.origin().Duration)
	f.number("--requests", s.requestsOf(s.Requests), 0) // as the flag takes it
	for _, stage := range s.Stages {
		f.add("--stage", stage, "")
	}
	if brief := pacer.BriefProfile(s.Profile); brief != s.Profile {
		f.withhold("--profile", brief)
	} else {
		f.add("--profile", s.Profile, "")
	}
	f.add("--arrivals", cmp.Or(s.Arrivals, pacer.EvenArrivals), cmp.Or(s.origin().Arrivals, pacer.EvenArrivals))
	f.number("--min-workers", s.MinWorkers, 1)
	f.time("--max-lag", s.MaxLag, DefaultMaxLag)
	f.time("--catch-up", s.CatchUp, DefaultCatchUp)
	f.add("--on-redis-loss", s.onRedisLoss(), LossPermit)
	if s.onRedisLoss() == LossPermit {
		f.time("--permit-for", s.Permit(), DefaultPermitFor)
	}
	f.time("--deadman", s.Deadman, 0)
}

// limiter adds the limiter.
func (f *flagList) limiter(s Spec) {
	f.add("--limiter", cmp.Or(s.Limiter, SlotsLimiter), SlotsLimiter)
	f.number("--burst", s.Burst, 0)
	f.time("--window", s.Window, 0)
	f.set("--spread=false", s.Together)
	if s.ExpireNX {
		f.add("--expire", "nx", "")
	}
	f.set("--debt", s.Debt)
}

// toMeet adds the thresholds, the queries that they may be about, and where traces are.
func (f *flagList) toMeet(s Spec) {
	for _, threshold := range s.Thresholds {
		f.add("--threshold", threshold, "")
	}
	f.time("--warmup", s.Warmup, 0)
	f.add("--prometheus", s.Prometheus, "")
	for _, query := range s.queries() {
		f.add("--query", query, "")
	}
	f.time("--query-stale", s.Stale(), DefaultQueryStale)
	f.add("--sample", s.sample(), SampleFull)
	f.number("--sample-body", s.sampledBody(), DefaultSampleBody)
	for _, name := range s.Redact {
		f.add("--redact", name, "")
	}
	f.add("--trace-url", s.TraceURL, "")
}

// Describe returns what the spec alone says of the run.
func (s Spec) Describe() report.Description {
	return report.Description{Setting: s.Setting(), CreatedBy: s.CreatedBy, TraceURL: s.TraceURL}
}
