package redact

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/loadctl/loadctl/targets"
)

// A Redactor takes secrets out of the exchanges of one run. Any number of goroutines may use it.
type Redactor struct {
	names map[string]bool // that were given, in lower case
	takes map[string]bool // that keep a secret, although their own names may not tell it
	base  []string        // values that the spec has
	redis bool            // some requests are commands of Redis
}

// Known are values that a request had from elsewhere. The zero value is fine.
type Known struct {
	Taken   []string // what its flow took
	Names   []string // the names of Taken, in the same order
	Cells   []Cell   // cells of data files that the request used
	Secrets []string // other values that must not be shown, such as that of a Credential
}

// A Cell is a value of a data file.
type Cell struct {
	Name  string // its column, such as users.password
	Value string
}

// mostBase bounds the values that a spec adds to each exchange. The headers of an exchange hold its own in any case.
const mostBase = 100

// New returns a Redactor for requests of a spec. names are those of headers, parameters and members that are secrets too;
// their case has no meaning.
func New(spec targets.Spec, names []string) *Redactor {
	r := &Redactor{names: map[string]bool{}, takes: map[string]bool{}}
	for _, name := range names {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
			r.names[name] = true
		}
	}
	known := newSecrets()
	if a, err := targets.ParseAuth(spec.Auth); err == nil {
		known.login(a.Basic)
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Settings)) {
		if r.secret(name) {
			known.add(spec.Settings[name], false)
		}
	}
	r.learn(known, spec.URL, spec.Headers)
	for _, f := range spec.Flows {
		for _, step := range f.Steps {
			r.learn(known, step.URL, step.Headers)
			for _, t := range step.Takes {
				if r.secret(t.From) {
					r.takes[t.Name] = true
				}
			}
		}
	}
	r.base = known.list[:min(len(known.list), mostBase)]
	return r
}

// learn adds the secrets of a request as it is described. What has placeholders is known only when they are filled.
func (r *Redactor) learn(known *secrets, address string, headers []targets.Header) {
	scheme, _, _ := strings.Cut(strings.ToLower(address), ":")
	r.redis = r.redis || strings.HasPrefix(scheme, "redis")
	if len(known.list) >= mostBase {
		return
	}
	if u, err := url.Parse(address); err == nil && u.User != nil && !strings.Contains(u.User.String(), "$") {
		password, _ := u.User.Password()
		known.login(u.User.Username() + ":" + password)
	}
	for _, h := range headers {
		if !strings.Contains(h.Value, "${") && !r.showsSent(h.Name) {
			r.header(known, h)
		}
	}
}

// Exchange takes the secrets out of e, and reports whether there were some in what was sent and in what came. Slices
// that e had are not written to.
func (r *Redactor) Exchange(e *targets.Exchange, call Known) (sent, came bool) {
	known := newSecrets()
	known.list = append(known.list, r.base...)
	for _, value := range call.Secrets {
		known.credential(value)
	}
	for i, value := range call.Taken {
		if i < len(call.Names) && (r.takes[call.Names[i]] || r.secret(call.Names[i])) {
			known.add(value, false)
		}
	}
	for _, c := range call.Cells {
		if r.secret(c.Name) {
			known.add(c.Value, false)
		}
	}
	e.Sent.Headers, e.Came.Headers = slices.Clone(e.Sent.Headers), slices.Clone(e.Came.Headers)
	var p page
	hidden := r.message(&p, known, &e.Sent, r.showsSent)
	if r.redis && hidden && !command(e.Came.Body) { // what a secret key holds
		e.Came.Body, came = hide(e.Came.Body), true
	}
	begin := len(p.documents)
	r.message(&p, known, &e.Came, r.showsCame)
	p.text(r, known, &e.Error)
	e.Checks = slices.Clone(e.Checks)
	for i := range e.Checks {
		c := &e.Checks[i]
		if c.Got != "" && aboutSecret(r, c.Check) {
			known.add(c.Got, false)
			c.Got, came = targets.Redacted, true
		}
		p.text(r, known, &c.Check)
		p.text(r, known, &c.Got)
	}
	m := known.matcher()
	for i, d := range p.documents {
		changed := d.finish(m)
		sent, came = sent || changed && i < begin, came || changed && i >= begin
	}
	return sent, came
}

// aboutSecret reports whether what a check found is a value with the name of a secret.
func aboutSecret(r *Redactor, check string) bool {
	for _, kind := range []string{"body", "status", "size", "time"} {
		if strings.HasPrefix(check, kind+" ") {
			return false // its Got is no single value
		}
	}
	return r.secret(check)
}

// URL returns a URL without user, password, and values of parameters that are secrets. It shows nothing of a text that is
// no URL.
func (r *Redactor) URL(raw string) string {
	shown := targets.RedactURL(raw)
	if shown == targets.Redacted {
		return shown
	}
	return r.single(shown, inURL)
}

// Text returns a text, such as that of an error, without secrets.
func (r *Redactor) Text(s string) string { return r.single(s, targets.Redacted) }

// single masks one text with what is known from the spec.
func (r *Redactor) single(s, word string) string {
	known := newSecrets()
	known.list = append(known.list, r.base...)
	d := &document{source: []byte(s), word: word, store: func(b []byte) { s = string(b) }}
	d.find(r, known)
	d.finish(known.matcher())
	return s
}
