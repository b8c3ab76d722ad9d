// Package endpoint has the names of endpoints and of their budgets.
//
//	name, err := endpoint.Parse("API.example.com:443") // as people write it
//	host := endpoint.Host("[0:0::1]:80")               // as a target has it; here [::1]:80
//	endpoint.Fits("api.example.com:443")               // itself, api.example.com, *.example.com, *.com, *
//
// Two texts for the same host have the same name.
package endpoint

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// write is what a name may be.
const write = "write HOST, HOST:PORT, *.DOMAIN or *"

// Parse returns the name of a budget as the ledger has it: HOST:PORT, HOST, *.DOMAIN for all hosts below a domain, or *
// for each host that has no other. Host names are in lower case, IPv6 addresses in brackets and in their short form.
func Parse(text string) (string, error) {
	name, err := parse(text)
	if err != nil && !strings.Contains(text, "@") { // it may have a password
		err = fmt.Errorf("host %.60q: %w", text, err)
	}
	return name, err
}

func parse(text string) (string, error) {
	domain, wild := strings.CutPrefix(text, "*.")
	switch {
	case text == "*":
		return text, nil
	case text == "":
		return "", errors.New("the host is missing; " + write)
	case strings.Contains(text, "@"):
		return "", errors.New("a host has no user and password; " + write)
	case strings.Contains(text, "/"):
		return "", errors.New("is no host but a URL or a path; " + write)
	case wild && strings.Contains(domain, ":"):
		return "", errors.New("a pattern has no port: it fits all ports of its hosts; write *.DOMAIN")
	case wild && isAddress(domain):
		return "", errors.New("a pattern is for names, not for addresses; write each address")
	case strings.Contains(domain, "*"):
		return "", errors.New("* stands alone, or before a dot at the beginning; " + write)
	}
	host, port, err := split(domain)
	if err != nil {
		return "", err
	}
	if host, err = parseHost(host); err != nil {
		return "", err
	}
	if wild {
		return "*." + host, nil
	}
	return joined(host, port), nil
}

// split cuts a text into host and port, "" = none. The host has no brackets.
func split(text string) (host, port string, err error) {
	if inner, bracketed := strings.CutPrefix(text, "["); bracketed {
		host, rest, closed := strings.Cut(inner, "]")
		if !closed || !strings.Contains(host, ":") || rest != "" && rest[0] != ':' {
			return "", "", errors.New("brackets are for IPv6 addresses; write [::1] or [::1]:8080")
		}
		return host, strings.TrimPrefix(rest, ":"), checkPort(strings.TrimPrefix(rest, ":"), rest != "")
	}
	if strings.Count(text, ":") > 1 {
		return text, "", nil // an IPv6 address without brackets
	}
	host, port, has := strings.Cut(text, ":")
	return host, port, checkPort(port, has)
}

func checkPort(port string, has bool) error {
	if n, err := strconv.Atoi(port); has && (err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port) {
		return errors.New("a port is a number from 1 to 65535; write HOST:PORT")
	}
	return nil
}

// label is one part of a host name.
var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$`)

// parseHost returns a name in lower case, or an address in its short form, without brackets.
func parseHost(host string) (string, error) {
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		switch {
		case err != nil:
			return "", errors.New("is no IPv6 address; write [::1] or [::1]:8080")
		case a.Zone() != "":
			return "", errors.New("an address with a zone is another one on each machine; leave the zone out")
		}
		return a.Unmap().String(), nil
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if isNumeric(name) && !isAddress(name) {
		return "", errors.New("is no IPv4 address; write four numbers from 0 to 255")
	}
	if len(name) > 253 {
		return "", errors.New("a host name has at most 253 characters")
	}
	for part := range strings.SplitSeq(name, ".") {
		if !label.MatchString(part) {
			return "", errors.New("is no host name: parts of letters, digits and dashes with dots between them, " +
				"and names in other letters in their form xn--…; " + write)
		}
	}
	return name, nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// isNumeric reports whether a host consists of digits and dots.
func isNumeric(host string) bool { return strings.Trim(host, "0123456789.") == "" && host != "" }

func joined(host, port string) string {
	switch {
	case port != "":
		return net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		return "[" + host + "]"
	}
	return host
}

// Host returns a host:port, as targets.Spec has it, as the ledger compares it. What is no name of a budget, such as
// unix:/path, stays as it is.
func Host(hostport string) string {
	if name, err := parse(hostport); err == nil {
		return name
	}
	return hostport
}

// Fits returns the names of budgets that fit a host, the narrowest first: HOST:PORT, HOST, *.DOMAIN, longer ones first,
// and *. lua/ledger.lua decides by the same rule.
func Fits(host string) (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) { // a budget fits itself
			names = append(names, name)
		}
	}
	name := Bare(host)
	add(host)
	add(name)
	for rest, more := name, true; more; {
		if _, rest, more = strings.Cut(rest, "."); more {
			add("*." + rest)
		}
	}
	add("*")
	return names
}

// Bare returns a host without its port. The host may be an IPv6 address in brackets.
func Bare(host string) string {
	if end := strings.Index(host, "]"); end >= 0 {
		return host[:end+1]
	}
	name, _, _ := strings.Cut(host, ":")
	return name
}
