package targets

import (
	"cmp"
	"fmt"
	"net"
	"strings"
)

// A route sends connections meant for one address to another. Empty parts match anything, or change nothing.
type route struct{ host, port, toHost, toPort string }

// Routes are tried in order; the first match is used, as in curl. So exceptions come before the rule.
type Routes []route

// Apply returns the host:port to connect to for a host and port.
func (rs Routes) Apply(host, port string) string {
	for _, r := range rs {
		// Names are compared without case, as DNS does.
		if (r.host == "" || strings.EqualFold(r.host, host)) && (r.port == "" || r.port == port) {
			return net.JoinHostPort(cmp.Or(r.toHost, host), cmp.Or(r.toPort, port))
		}
	}
	return net.JoinHostPort(host, port)
}

// ParseRoutes parses Spec.ConnectTo.
func ParseRoutes(list []string) (Routes, error) {
	var rs Routes
	for _, s := range list {
		r, err := parseRoute(s)
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// parseRoute parses HOST1:PORT1:HOST2:PORT2. The first pair is the address in the URL, the second where to connect.
func parseRoute(s string) (route, error) {
	bad := func(why string) (route, error) {
		if strings.Contains(s, "@") {
			return route{}, fmt.Errorf("connect-to: %s, without user and password; write HOST1:PORT1:HOST2:PORT2, IPv6 in brackets", why)
		}
		return route{}, fmt.Errorf("connect-to %q: %s; write HOST1:PORT1:HOST2:PORT2, IPv6 in brackets", s, why)
	}
	// Cut from the left: splitting at colons would break IPv6 addresses.
	var parts [4]string
	rest := s
	for i := range parts {
		part, after, ok := cutPart(rest, i < len(parts)-1)
		if !ok {
			return bad("must have four parts")
		}
		parts[i], rest = part, after
	}
	for _, port := range []string{parts[1], parts[3]} {
		if port != "" && !isPort(port) {
			return bad("a port must be 1 to 65535")
		}
	}
	return route{host: parts[0], port: parts[1], toHost: parts[2], toPort: parts[3]}, nil
}

// cutPart cuts the first part off s, at a colon if more parts follow, else at the end. Brackets around a part protect
// its colons, and are removed.
func cutPart(s string, more bool) (part, rest string, ok bool) {
	inner, bracketed := strings.CutPrefix(s, "[")
	if bracketed {
		// Only addresses are in brackets. A name there is a typing error that would silently match nothing.
		part, rest, ok = strings.Cut(inner, "]")
		if !ok || net.ParseIP(part) == nil {
			return "", "", false
		}
		if more {
			rest, ok = strings.CutPrefix(rest, ":")
			return part, rest, ok
		}
		return part, "", rest == ""
	}
	if !more {
		return s, "", !strings.ContainsAny(s, ":[] ")
	}
	part, rest, ok = strings.Cut(s, ":")
	return part, rest, ok && !strings.ContainsAny(part, "[] ")
}
