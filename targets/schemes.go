package targets

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// A Scheme is what the scheme of a URL says of its requests. How they are made and judged is for package wire.
type Scheme struct {
	Name string
	Port string // where it connects if the URL names no port; NoPort: the URL must name one; "": it does not connect
	Bare bool   // its requests have not the methods, headers and statuses of HTTP
}

// NoPort is the Port of a scheme that has no usual one.
const NoPort = "0"

// schemes is the one place that lists schemes. It is a function, because a variable could be changed.
func schemes() []Scheme {
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

// Schemes returns the names of the schemes that have a target, sorted.
func Schemes() []string {
	var names []string
	for _, k := range schemes() {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return names
}

// lookup returns a scheme by its name in lower case, as url.Parse gives it; false if there is none.
func lookup(name string) (Scheme, bool) {
	all := schemes()
	i := slices.IndexFunc(all, func(k Scheme) bool { return k.Name == name })
	if i < 0 {
		return Scheme{}, false
	}
	return all[i], true
}

// HasHeaders reports whether requests to a URL have a method, headers and a status, as those of HTTP have. An unknown
// scheme is taken for one that has.
func HasHeaders(raw string) bool {
	scheme, _, _ := strings.Cut(raw, ":")
	k, known := lookup(strings.ToLower(scheme))
	return !known || !k.Bare
}

// Port returns the port of u, or the default port of its scheme.
func Port(u *url.URL) string {
	k, _ := lookup(u.Scheme)
	return cmp.Or(u.Port(), k.Port)
}
