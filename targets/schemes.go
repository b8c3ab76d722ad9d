package targets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A Scheme is what the scheme of a URL says of its requests. How requests of our own schemes are made and judged is for
// package wire. A program may bring more schemes: those have Open, and package wire lets its Sender perform them.
type Scheme struct {
	Name    string `json:"name"`              // in lower case, as in URLs
	Version string `json:"version,omitempty"` // "" of ours; the workers of a run must all have the same of others
	Port    string `json:"port,omitempty"`    // where it connects if the URL names no port; NoPort: the URL must name one; "": it does not connect
	Bare    bool   `json:"bare,omitempty"`    // its requests have not the methods, headers and statuses of HTTP

	// Check says what is wrong with a valid spec of one step, in one line that says what to do; nil = nothing is. It uses
	// neither network nor files.
	Check func(Spec) error `json:"-"`
	// Open makes what performs the requests of a run, for all of its steps with this scheme. It opens no connection. Its
	// error says why this machine cannot send, such as a missing file.
	Open func(Spec, Local) (Sender, error) `json:"-"`
	// Reach finds out whether the server of a step can be reached, without a request; nil = it is not asked. It returns soon
	// after the end of ctx.
	Reach func(context.Context, Request, Spec, Local) error `json:"-"`
}

// NoPort is the Port of a scheme that has no usual one.
const NoPort = "0"

// ours is the one place that lists our schemes. It is a function, because a variable could be changed.
func ours() []Scheme {
	return []Scheme{
		{Name: "http", Port: "80"},
		{Name: "https", Port: "443"},
		{Name: "noop"},
		{Name: "tcp", Port: NoPort, Bare: true},
		{Name: "udp", Port: NoPort, Bare: true},
		{Name: "redis", Port: "6379", Bare: true},
		{Name: "rediss", Port: "6379", Bare: true},
		{Name: "ws", Port: "80", Bare: true},
		{Name: "wss", Port: "443", Bare: true},
		{Name: "grpc", Port: "80", Bare: true},
		{Name: "grpcs", Port: "443", Bare: true},
	}
}

// Program is the scheme of runs whose requests are calls of functions, program://NAME: package fleet has what performs them.
func Program() Scheme { return Scheme{Name: "program", Version: "1", Bare: true} }

// Schemes returns the names of our schemes and of others, sorted. Others have their versions, as ParseScheme reads them.
func Schemes(others ...Scheme) []string {
	var names []string
	for _, k := range slices.Concat(ours(), others) {
		names = append(names, k.String())
	}
	slices.Sort(names)
	return names
}

// String returns the name and the version, as ParseScheme reads them.
func (k Scheme) String() string {
	if k.Version == "" {
		return k.Name
	}
	return k.Name + "=" + k.Version
}

// ParseScheme reads a scheme that this program does not have, NAME=VERSION. Its URLs must name a port, as its usual one is
// unknown.
func ParseScheme(text string) (Scheme, error) {
	name, version, _ := strings.Cut(text, "=")
	k := Scheme{Name: name, Version: version, Port: NoPort, Bare: true}
	return k, CheckSchemes([]Scheme{k})
}

// What names, versions and ports of other schemes may be.
var (
	schemeName    = regexp.MustCompile(`^[a-z][a-z0-9+.-]{0,31}$`)
	schemeVersion = regexp.MustCompile(`^[0-9A-Za-z+._-]{1,32}$`)
	schemePort    = regexp.MustCompile(`^[0-9]{0,5}$`)
)

// CheckSchemes says what is wrong with a list of schemes that are not ours, in one line.
func CheckSchemes(others []Scheme) error {
	for i, k := range others {
		same := func(o Scheme) bool { return o.Name == k.Name }
		switch {
		case !schemeName.MatchString(k.Name):
			return fmt.Errorf("scheme %.40q: a name has at most 32 lower-case letters, digits, dots, dashes and +, and begins with a letter", k.Name)
		case slices.ContainsFunc(ours(), same):
			return fmt.Errorf("scheme %s: loadctl has one of this name; choose another", k.Name)
		case slices.ContainsFunc(others[:i], same):
			return fmt.Errorf("scheme %s: is given twice; leave one out", k.Name)
		case !schemeVersion.MatchString(k.Version):
			return fmt.Errorf("scheme %s: its version is %.40q; write at most 32 letters, digits and +._-, such as 1", k.Name, k.Version)
		case !schemePort.MatchString(k.Port):
			return fmt.Errorf("scheme %s: its port is %.40q; write a number, NoPort, or nothing if it does not connect", k.Name, k.Port)
		}
	}
	return nil
}

// Using returns the spec with those of the given schemes that its requests use and that are not ours. Steps are found by
// their URLs alone, so the spec need not be valid yet.
func (s Spec) Using(have []Scheme) Spec {
	s.Schemes = nil
	urls := []string{s.URL}
	for _, f := range s.Flows {
		for _, step := range f.Steps {
			urls = append(urls, step.URL)
		}
	}
	for _, k := range have {
		if slices.ContainsFunc(urls, func(u string) bool { return schemeOf(u) == k.Name }) {
			s.Schemes = append(s.Schemes, k)
		}
	}
	return s
}

// Bind returns the spec with the schemes of this program in place of those that were recorded. It fails if the program lacks
// one, or has another version: then its requests would be others.
func (s Spec) Bind(have []Scheme) (Spec, error) {
	s.Schemes = slices.Clone(s.Schemes)
	for i, k := range s.Schemes {
		j := slices.IndexFunc(have, func(o Scheme) bool { return o.Name == k.Name })
		if j < 0 {
			return s, fmt.Errorf("the run needs the scheme %.80s, which this program does not have; use the program that does: see docs/extend.md", k)
		}
		if have[j].Version != k.Version {
			return s, fmt.Errorf("the run needs the scheme %.80s, and this program has %s; start a program with that version", k, have[j])
		}
		s.Schemes[i] = have[j]
	}
	return s, nil
}

// others returns the schemes that are not ours, with commas between.
func (s Spec) others() string {
	var all []string
	for _, k := range s.Schemes {
		all = append(all, k.String())
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// CheckSettings checks the schemes that are not ours, and that they alone have Settings.
func (s Spec) CheckSettings() error {
	if err := CheckSchemes(s.Schemes); err != nil {
		return err
	}
	if len(s.Settings) > 0 && len(s.Schemes) == 0 {
		return errors.New("set: only schemes of programs of one's own have settings; leave them out")
	}
	return nil
}

// schemeOf returns the scheme of a URL in lower case, as url.Parse gives it.
func schemeOf(raw string) string {
	scheme, _, _ := strings.Cut(raw, ":")
	return strings.ToLower(scheme)
}

// find returns a scheme by its name in lower case; false if there is none.
func find(all []Scheme, name string) (Scheme, bool) {
	i := slices.IndexFunc(all, func(k Scheme) bool { return k.Name == name })
	if i < 0 {
		return Scheme{}, false
	}
	return all[i], true
}

// lookup returns a scheme of the spec by its name. Ours win.
func (s Spec) lookup(name string) (Scheme, bool) { return find(slices.Concat(ours(), s.Schemes), name) }

// HasHeaders reports whether the URL is of one of our schemes whose requests have a method, headers and a status, as those
// of HTTP have.
func HasHeaders(raw string) bool {
	k, known := find(ours(), schemeOf(raw))
	return known && !k.Bare
}

// Known reports whether the URL is of one of our schemes.
func Known(raw string) bool {
	_, known := find(ours(), schemeOf(raw))
	return known
}

// Port returns the port of u, or the default port of its scheme, if that is one of ours.
func Port(u *url.URL) string {
	k, _ := find(ours(), u.Scheme)
	return cmp.Or(u.Port(), k.Port)
}
