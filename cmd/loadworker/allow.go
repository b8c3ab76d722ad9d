package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/spf13/cobra"
)

// allowFlags say what a worker that joins may fire at. The target of a run it did not describe itself comes from Redis: whoever
// can write there must not be able to turn the fleet on somebody else.
type allowFlags struct {
	hosts []string
	any   bool
}

func (f *allowFlags) AddFlags(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.hosts, "allow-hosts", nil, "`HOST[:PORT],…` that a run joined without --url may fire at; unix:/path for a socket")
	c.Flags().BoolVar(&f.any, "allow-any", false, "join whatever the run fires at")
}

// check refuses a target with a host that was not allowed: the URL's, and where connections really go.
func (f *allowFlags) check(spec targets.Spec) error {
	if f.any {
		return nil
	}
	if len(f.hosts) == 0 {
		return errors.New("joining a run described by others: say what it may fire at with --allow-hosts HOST,… or --allow-any")
	}
	hosts := spec.Hosts()
	if u, err := url.Parse(spec.URL); err == nil && u.Host != "" {
		hosts = append(hosts, u.Host)
	}
	for _, host := range hosts {
		if !f.allowed(host) {
			return fmt.Errorf("the run fires at %s, which --allow-hosts does not name; nothing was sent", host)
		}
	}
	return nil
}

// allowed tells whether a host, host:port or unix:/path is on the list; an entry without a port allows all ports.
func (f *allowFlags) allowed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil && !strings.HasPrefix(host, "unix:") {
		name = h
	}
	bare := func(s string) string { return strings.Trim(strings.ToLower(s), "[]") }
	for _, entry := range f.hosts {
		if strings.EqualFold(entry, host) || bare(entry) == bare(name) {
			return true
		}
	}
	return f.any
}
