package loadworker

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/targets"
)

// allowFlags say which hosts a worker may send to. The target of a run that others described comes from Redis: whoever
// can write there must not be able to turn the fleet on somebody else.
type allowFlags struct {
	hosts []string
	any   bool
}

func (f *allowFlags) AddFlags(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.hosts, "allow-hosts", nil, "`HOST[:PORT],...` that this worker may send to, and be redirected to. Needed to join a run without --url; unix:/path for a socket")
	c.Flags().BoolVar(&f.any, "allow-any", false, "send to any host")
}

// beside returns which hosts a target of the worker's own may redirect to: those of --allow-hosts. nil means only the
// URL's own host.
func (f *allowFlags) beside(s spec.Spec) (allow func(host string) bool, err error) {
	if len(f.hosts) == 0 {
		return nil, nil
	}
	strict := allowFlags{hosts: f.hosts} // --allow-any concerns targets that others describe
	return strict.allowed, cmp.Or(strict.check(s.Target), strict.checkQueries(s))
}

// check refuses a target whose hosts are not all allowed: the host in the URL, the one that connections go to, and the
// token server.
func (f *allowFlags) check(target targets.Spec) error {
	if f.any {
		return nil
	}
	named := target // the host in the URL, without --connect-to and --unix-socket
	named.ConnectTo, named.UnixSocket = nil, ""
	for _, host := range append(target.Hosts(), named.Hosts()...) {
		if !f.allowed(host) {
			return fmt.Errorf("the run sends to %s, which --allow-hosts does not allow; nothing was sent. To allow it, add it to --allow-hosts", host)
		}
	}
	// It gets a secret of this machine.
	if host := target.AuthHost(); host != "" && !f.allowed(host) {
		return fmt.Errorf("the run gets tokens from %s (--auth), which --allow-hosts does not allow; nothing was sent. To allow it, add it to --allow-hosts", host)
	}
	return nil
}

// checkQueries refuses a run whose queries go to a host that is not allowed. They may get a secret of this machine.
func (f *allowFlags) checkQueries(s spec.Spec) error {
	if host := s.PrometheusHost(); host != "" && !f.allowed(host) {
		return fmt.Errorf("the run asks the Prometheus at %s (--prometheus), which --allow-hosts does not allow; nothing was sent. To allow it, add it to --allow-hosts", host)
	}
	return nil
}

// checkEntries refuses entries that can match no host.
func (f *allowFlags) checkEntries() error {
	for _, entry := range f.hosts {
		if entry == "" || strings.ContainsAny(entry, "/@ *") && !strings.HasPrefix(entry, socket) {
			return fmt.Errorf("--allow-hosts %.40q: write HOST, HOST:PORT or unix:/path, not a URL or a pattern", entry)
		}
	}
	return nil
}

// checkJoining refuses to join a run described by others if no host is allowed.
func (f *allowFlags) checkJoining() error {
	if f.any || len(f.hosts) > 0 {
		return nil
	}
	return errors.New("joining a run that others described: give the hosts it may send to with --allow-hosts HOST,… or --allow-any; or describe a run with --url and --qps")
}

// socket is the prefix of a Unix socket's name.
const socket = "unix:"

// allowed tells whether a host:port or unix:/path is on the list; an entry without a port allows all ports.
func (f *allowFlags) allowed(host string) bool {
	if f.any || strings.HasPrefix(host, socket) { // paths are compared as they are
		return f.any || slices.Contains(f.hosts, host)
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(f.hosts, func(entry string) bool {
		return strings.EqualFold(entry, host) || strings.EqualFold(strings.Trim(entry, "[]"), name)
	})
}
