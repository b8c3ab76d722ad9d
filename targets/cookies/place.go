package cookies

import (
	"net/netip"
	"net/url"
	"strings"
)

// A Place is what the cookies of a request depend on: where it goes.
type Place struct {
	host   string // in small letters, without a port
	path   string // as it is sent, without the query
	secure bool   // it is sent over TLS, or stays on this machine
}

// At returns the place of a request to a host, with or without a port, and a path, with or without a query. tls says
// that it is encrypted.
func At(host, path string, tls bool) Place {
	host = strings.TrimSuffix(strings.ToLower((&url.URL{Host: host}).Hostname()), ".")
	return Place{host, "", tls || isLocal(host)}.WithPath(path)
}

// isLocal reports whether a host is this machine. Browsers send it Secure cookies without TLS too.
func isLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// WithPath returns the place with another path, with or without a query.
func (p Place) WithPath(path string) Place {
	p.path, _, _ = strings.Cut(path, "?")
	return p
}

// folder returns the path of a cookie that has none: that of the request, up to its last slash (RFC 6265, 5.1.4).
func (p Place) folder() string {
	i := strings.LastIndexByte(p.path, '/')
	if i <= 0 || p.path[0] != '/' {
		return "/"
	}
	return strings.Clone(p.path[:i])
}

// domain returns the host that a cookie from this place belongs to, and whether it belongs to the hosts below it too.
// It returns false if the attribute names a host that the place may not speak for.
//
// A domain without a dot is a top-level domain, or a name such as localhost. Such a name may only mean itself, as may
// an IP address.
func (p Place) domain(attribute string) (host string, all, ok bool) {
	domain := strings.ToLower(strings.TrimPrefix(attribute, "."))
	switch {
	case attribute == "":
		return p.host, false, true
	case isIP(p.host):
		return p.host, false, attribute == p.host
	case !strings.Contains(domain, "."):
		return p.host, false, domain == p.host
	}
	return domain, true, domain == p.host || below(p.host, domain)
}

// below reports whether a host lies below a domain (RFC 6265, 5.1.3).
func below(host, domain string) bool {
	before, ok := strings.CutSuffix(host, domain)
	return ok && strings.HasSuffix(before, ".") && !isIP(host)
}

// isIP reports whether a host is an IP address.
func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
