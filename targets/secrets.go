package targets

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets/rows"
)

// Redacted stands for a secret. In a URL it is the word alone, because brackets would be escaped there.
const Redacted = "[redacted]"

// SecretName reports whether a name is likely to be that of a secret: of a header, of a field of a form or of JSON, of a
// parameter of a URL, or of a column. A text with several names has one of a secret. Those who wrote a file are shown all
// else of it. Reports go to others, and have a stricter rule for headers: see Redacted.
func SecretName(name string) bool {
	words := strings.ToLower(wordBegins.ReplaceAllString(name, "$1-$2"))
	return secretName.MatchString(publicKey.ReplaceAllString(words, ""))
}

// Secret reports whether the value of the header is likely to be a secret: its name shows that, and the value has more
// than a scheme and placeholders, as in Bearer ${token}.
func (h Header) Secret() bool { return SecretName(h.Name) && !onlyPlaceholders.MatchString(h.Value) }

var (
	// wordBegins matches where a word begins with a capital letter.
	wordBegins = regexp.MustCompile(`([a-z0-9])([A-Z])`)

	// publicKey matches a name that has key in it, and is none of a secret.
	publicKey = regexp.MustCompile(`idempotency[-_]?key`)

	// secretName matches parts that name a secret wherever they stand, and words that other words may hold. An author is
	// no secret.
	secretName = regexp.MustCompile(`passw|passphrase|passcode|pass([^a-z]|$)|secret|token|credential|cookie|session|csrf|xsrf|signature|(api|access|private)[-_]?key|` +
		`auth([^o]|ori[sz]|$)|(^|[^a-z])(pw|pwd|pin|otp|sid|sig|jwt|key)([^a-z]|$)`)

	onlyPlaceholders = regexp.MustCompile(`^([A-Za-z]+ )?([\w-]+=)?(\$\{[^}]*\})+$`)
)

// Harmless reports whether anyone may see the value of a header. All other headers count as secrets in a report, because
// a list of secret ones is never complete.
func Harmless(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "Connection",
		"Content-Type", "Expect", "Host", "Range", "User-Agent":
		return true
	}
	return false
}

// Redacted returns a copy without secrets. It replaces the body, user and password of the URL and of Auth, and the values
// of all headers but some that are known to be harmless. Of the query of the URL it replaces what has the name of a secret.
func (s Spec) Redacted() Spec {
	s.URL = RedactURL(s.URL)
	s.Headers = slices.Clone(s.Headers)
	for i, h := range s.Headers {
		if !Harmless(h.Name) {
			s.Headers[i].Value = Redacted
		}
	}
	if len(s.Body) > 0 {
		s.Body = []byte(Redacted)
	}
	s.Settings = maps.Clone(s.Settings)
	for name := range s.Settings {
		if SecretName(name) {
			s.Settings[name] = Redacted
		}
	}
	s.Auth = redactAuth(s.Auth)
	s.ConnectTo = redactRoutes(s.ConnectTo)
	s.Flows = slices.Clone(s.Flows)
	for i, f := range s.Flows {
		f.Steps = slices.Clone(f.Steps)
		for j, step := range f.Steps {
			one := s.Single(step, nil, nil).Redacted()
			step.URL, step.Headers, step.Body = one.URL, one.Headers, one.Body
			f.Steps[j] = step
		}
		s.Flows[i] = f
	}
	return s
}

// Request returns what may be shown of each request: the method in effect, "" if the target does not connect, and the
// URL as in Redacted. Of several requests it returns the hosts they go to.
func (s Spec) Request() (method, shown string) {
	if len(s.Flows) > 0 {
		return "", strings.Join(s.Hosts(), ", ")
	}
	if k, _, err := s.ParseURL(); err == nil && k.Port != "" && !k.Bare {
		method = s.EffectiveMethod()
	}
	return method, RedactURL(s.URL)
}

// RedactURL replaces user and password, and values of the query whose names are those of secrets, but for placeholders. It
// shows nothing of a text that is not a URL, or has no // after its scheme: parts of it cannot be identified.
func RedactURL(raw string) string {
	return redactQuery(redactUser(raw))
}

// redactQuery replaces values of the query of a URL whose names are those of secrets. All else stays as it was written.
func redactQuery(raw string) string {
	before, query, found := strings.Cut(raw, "?")
	if !found {
		return raw
	}
	query, fragment, cut := strings.Cut(query, "#")
	parameters := strings.Split(query, "&")
	for i, p := range parameters {
		name, value, _ := strings.Cut(p, "=")
		if plain, err := url.QueryUnescape(name); err == nil && value != "" && SecretName(plain) && !onlyPlaceholders.MatchString(value) {
			parameters[i] = name + "=" + strings.Trim(Redacted, "[]")
		}
	}
	raw = before + "?" + strings.Join(parameters, "&")
	if cut {
		raw += "#" + fragment
	}
	return raw
}

// redactUser replaces user and password.
func redactUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		return Redacted
	}
	if u.User == nil {
		return raw
	}
	// All else stays as it was written, also placeholders: String would escape them.
	begin := strings.Index(raw, "//") + len("//")
	authority := raw[begin:]
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	at := strings.LastIndex(authority, "@")
	if at < 0 {
		return Redacted
	}
	return raw[:begin] + strings.Trim(Redacted, "[]") + raw[begin+at:]
}

// redactRoutes replaces texts that are no routes and may contain a password. Only targets that do not connect let them
// through.
func redactRoutes(list []string) []string {
	list = slices.Clone(list)
	for i, s := range list {
		if strings.Contains(s, "@") {
			list[i] = Redacted
		}
	}
	return list
}

// Diff describes how o (here) differs from s (there): a line for each difference, in the order of the fields; nothing
// if they are equal, such as "timeout: 30s there, 1s here". It compares secrets but does not show them: "header
// Authorization differs".
func (s Spec) Diff(o Spec) []string {
	var lines []string
	// show is for values anybody may see; all of them are comparable.
	show := func(name string, a, b any) {
		if a != b {
			lines = append(lines, fmt.Sprintf("%s: %v there, %v here", name, a, b))
		}
	}
	if a, b := RedactURL(s.URL), RedactURL(o.URL); a == b && s.URL != o.URL {
		lines = append(lines, "user or password of url differs")
	} else {
		show("url", a, b)
	}
	show("schemes", cmp.Or(s.others(), "none"), cmp.Or(o.others(), "none"))
	for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
		if o.Settings[name] != s.Settings[name] {
			lines = append(lines, "setting "+name+" differs")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Settings)) {
		if _, both := s.Settings[name]; !both {
			lines = append(lines, "setting "+name+": only here")
		}
	}
	if HasHeaders(s.URL) || HasHeaders(o.URL) {
		show("method", s.EffectiveMethod(), o.EffectiveMethod())
	}
	lines = append(lines, diffHeaders(s.Headers, o.Headers)...)
	if !bytes.Equal(s.Body, o.Body) {
		lines = append(lines, "body differs")
	}
	if !bytes.Equal(s.Descriptors, o.Descriptors) {
		lines = append(lines, "descriptions of gRPC methods differ")
	}
	lines = append(lines, diffFlows(s, o)...)
	lines = append(lines, diffData(s.Data, o.Data)...)
	if a, b := redactAuth(s.Auth), redactAuth(o.Auth); a == b && s.Auth != o.Auth {
		lines = append(lines, "user or password of auth differs")
	} else {
		show("auth", cmp.Or(a, "none"), cmp.Or(b, "none"))
	}
	// Values in effect are compared: a default written out is no difference.
	show("timeout", s.EffectiveTimeout(), o.EffectiveTimeout())
	show("http", s.Version(), o.Version())
	show("streams", s.EffectiveStreams(), o.EffectiveStreams())
	show("no keep-alive", s.NoKeepAlive, o.NoKeepAlive)
	show("connect-to", quoted(redactRoutes(s.ConnectTo)), quoted(redactRoutes(o.ConnectTo)))
	show("unix socket", quote(s.UnixSocket), quote(o.UnixSocket))
	show("insecure", s.Insecure, o.Insecure)
	if s.CA != o.CA {
		lines = append(lines, "ca differs")
	}
	show("redirects", s.Redirects, o.Redirects)
	show("body limit", s.EffectiveBodyLimit(), o.EffectiveBodyLimit())
	show("expect", s.expect(), o.expect())
	show("reply", quote(s.Reply), quote(o.Reply))
	show("stream", cmp.Or(s.Stream.String(), "none"), cmp.Or(o.Stream.String(), "none"))
	show("binary", s.Binary, o.Binary)
	show("cookies", s.Cookies, o.Cookies)
	show("trace", s.Trace, o.Trace)
	show("trace sampled", s.TraceSampled, o.TraceSampled)
	show("checks", quoted(s.Checks), quoted(o.Checks))
	return lines
}

// diffHeaders compares headers by name, whatever its case, and the values of
// each name in their order: that order has a meaning to servers, the order of
// different names has none. Values are never shown, not even harmless ones, so
// that there is one rule.
func diffHeaders(a, b []Header) []string {
	var lines, seen []string
	for _, h := range slices.Concat(a, b) {
		name := http.CanonicalHeaderKey(h.Name)
		if slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		before, after := HeaderValues(a, name), HeaderValues(b, name)
		switch {
		case len(before) == 0:
			lines = append(lines, "header "+name+": only here")
		case len(after) == 0:
			lines = append(lines, "header "+name+": only there")
		case !slices.Equal(before, after):
			lines = append(lines, "header "+name+" differs")
		}
	}
	return lines
}

// diffFlows compares the mixes, and then each step.
func diffFlows(a, b Spec) []string {
	shares := func(s Spec) string {
		var all []string
		for _, f := range s.Flows {
			all = append(all, fmt.Sprintf("%s %d", f.Name, f.weight()))
		}
		return cmp.Or(strings.Join(all, ", "), "none")
	}
	if x, y := shares(a), shares(b); x != y {
		return []string{fmt.Sprintf("flows: %.300s there, %.300s here", x, y)}
	}
	var lines []string
	if x, y := a.pick(), b.pick(); x != y {
		lines = append(lines, fmt.Sprintf("targets pick: %s there, %s here", x, y))
	}
	if x, y := cmp.Or(a.RateOf, RateOfFlows), cmp.Or(b.RateOf, RateOfFlows); x != y {
		lines = append(lines, fmt.Sprintf("rate of: %s there, %s here", x, y))
	}
	for i := range a.Flows {
		lines = append(lines, diffSteps(a.Flows[i], b.Flows[i])...)
	}
	return lines
}

// diffSteps compares the steps of a flow.
func diffSteps(a, b Flow) (lines []string) {
	if len(a.Steps) != len(b.Steps) {
		return []string{fmt.Sprintf("flow %s: %d steps there, %d here", a.Name, len(a.Steps), len(b.Steps))}
	}
	if !reflect.DeepEqual(a.Body, b.Body) {
		lines = append(lines, fmt.Sprintf("flow %s: its conditions and loops differ", a.Name))
	}
	for i, x := range a.Steps {
		y := b.Steps[i]
		if x.Name != y.Name {
			lines = append(lines, fmt.Sprintf("flow %s: step %d is called %s there, %s here", a.Name, i+1, x.Name, y.Name))
		}
		for _, line := range (Spec{}).Single(x, nil, nil).Diff(Spec{}.Single(y, nil, nil)) {
			lines = append(lines, "step "+x.Name+": "+line)
		}
		if x, y := x.timing(), y.timing(); x != y {
			lines = append(lines, fmt.Sprintf("step %s: %s there, %s here", a.Steps[i].Name, x, y))
		}
	}
	return lines
}

// timing describes what a step has beside its request.
func (s Step) timing() string {
	text := fmt.Sprintf("at %v", s.At)
	if s.After != nil {
		text = "after " + cmp.Or(s.Pause, s.After.String())
	}
	for _, t := range s.Takes {
		text += fmt.Sprintf(", takes %s from %s", t.Name, t.From)
	}
	return text
}

// diffData compares data files by name.
func diffData(a, b []rows.Source) (lines []string) {
	find := func(list []rows.Source, name string) (rows.Source, bool) {
		i := slices.IndexFunc(list, func(d rows.Source) bool { return d.Name == name })
		if i < 0 {
			return rows.Source{}, false
		}
		return list[i], true
	}
	for _, d := range a {
		switch o, both := find(b, d.Name); {
		case !both:
			lines = append(lines, "data "+d.Name+": only there")
		case d.SHA256 != o.SHA256:
			lines = append(lines, fmt.Sprintf("data %s: another file, %d rows there, %d here", d.Name, d.Rows, o.Rows))
		case d.Pick != o.Pick || d.Seed != o.Seed:
			lines = append(lines, fmt.Sprintf("data %s: pick=%s,seed=%d there, pick=%s,seed=%d here", d.Name, d.Pick, d.Seed, o.Pick, o.Seed))
		}
	}
	for _, d := range b {
		if _, both := find(a, d.Name); !both {
			lines = append(lines, "data "+d.Name+": only here")
		}
	}
	return lines
}

// HeaderValues returns the values of all headers called name.
func HeaderValues(headers []Header, name string) []string {
	var found []string
	for _, h := range headers {
		if http.CanonicalHeaderKey(h.Name) == name {
			found = append(found, h.Value)
		}
	}
	return found
}

// quote and quoted make empty values visible.
func quote(s string) string    { return fmt.Sprintf("%q", s) }
func quoted(s []string) string { return fmt.Sprintf("%q", s) }
