package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/metrics"
	"github.com/loadctl/loadctl/internal/console/ui"
	"github.com/loadctl/loadctl/internal/fleet/link"
)

// NewUICommand returns the command that serves the live page.
func NewUICommand(server *cli.Redis) *cobra.Command {
	var flags uiFlags
	c := &cobra.Command{
		Use:   "ui [ARCHIVE...]",
		Short: "Serve a live page of all runs, their metrics, and a JSON API",
		Long: `Serve a page that shows all runs of Redis as they go, and the archives named here. Any number of
these servers may run, and any may end: they keep no data of runs. docs/live.md describes the page.

It prints an address that logs one browser in, once. After each login it prints the next one. A
session lasts 7 days, also if the server is started again: its key is in a file that only you can
read, ~/.local/state/loadctl/ui.key or --session-key.

The page is read-only. With --control it can change the rate of a run, pause, resume, stop and start
it, and remove dead workers. It can set, freeze and thaw budgets of endpoints. Watching is no sign
of life for --deadman; commands are.

It listens on 127.0.0.1. Any other address needs --tls-cert and --tls-key, or --insecure-listen if
a proxy protects it. Browsers must call it by that address, by localhost, or by a name of
--allow-host.

/metrics serves Prometheus, with classic and native histograms. On 127.0.0.1 it is open; elsewhere
it needs --metrics-token-file.

It ends by Ctrl-C or SIGTERM, with exit code 0.`,
		Example: "  loadctl ui\n  loadctl ui --control before.loadctl\n  loadctl ui --listen :8089 --allow-host load.example.com --tls-cert cert.pem --tls-key key.pem",
		Args:    cli.Args(cobra.ArbitraryArgs),
		RunE:    func(c *cobra.Command, args []string) error { return flags.serve(c, server, args) },
	}
	flags.AddFlags(c)
	return c
}

// uiFlags say where the page is served, and what it may do.
type uiFlags struct {
	listen                   string
	control, insecure        bool
	nativeOnly               bool
	hosts                    []string
	certificate              certificate
	sessionKey, metricsToken string
}

func (f *uiFlags) AddFlags(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.listen, "listen", "127.0.0.1:8089", "`HOST:PORT` to listen on, port 0 = a free one")
	s.BoolVar(&f.control, "control", false, "let the page give commands; without it the page is read-only")
	s.StringArrayVar(&f.hosts, "allow-host", nil, "a `NAME` by which browsers call this server, without a port; may be repeated")
	f.certificate.AddFlags(c, "serve https")
	s.BoolVar(&f.insecure, "insecure-listen", false, "listen on any address without TLS: a proxy protects the server")
	s.StringVar(&f.sessionKey, "session-key", "", "`FILE` with the key that signs sessions; made if it is missing (default ~/.local/state/loadctl/ui.key)")
	s.StringVar(&f.metricsToken, "metrics-token-file", "", "`FILE` with the bearer token that /metrics asks for")
	s.BoolVar(&f.nativeOnly, "native-only", false, "leave the classic buckets out of /metrics: only a Prometheus with native histograms has percentiles then")
}

// serve serves the page until the command's context ends. That is its normal end, not an error.
func (f *uiFlags) serve(c *cobra.Command, server *cli.Redis, files []string) error {
	t, err := f.check()
	if err != nil {
		return cli.Config(err)
	}
	push, err := metrics.NewPush(os.Getenv, c.Root().Version)
	if err != nil {
		return cli.Config(err)
	}
	archives, err := readArchives(files)
	if err != nil {
		return err
	}
	reach := &ui.Connection{Reach: server.Connect}
	defer cli.Close(reach)
	if err := f.tryRedis(c, reach, len(archives) > 0); err != nil {
		return err
	}
	o := ui.Options{Version: c.Root().Version, Connect: reach.Client, Archives: archives, Control: f.control, Hosts: f.hosts, Key: f.key(c), Announce: announcer(c)}
	if f.metricsToken != "" {
		o.MetricsToken = func() (string, error) { return ui.ReadToken(f.metricsToken) }
	}
	last := func() error { return nil }
	o.Metrics = func(all metrics.Source) http.Handler {
		last = push.Start(all, func(err error) { cli.WarnOf(c, err) })
		return &metrics.Page{Source: all, NativeOnly: f.nativeOnly}
	}
	defer func() { cli.WarnOf(c, last()) }()
	page, err := ui.New(o)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return cli.Config(f.listenError(err))
	}
	return page.Serve(c.Context(), l, t)
}

// check refuses flags that do not go together, and returns the TLS configuration; nil = none.
func (f *uiFlags) check() (*tls.Config, error) {
	host, port, err := net.SplitHostPort(f.listen)
	if err != nil || port == "" {
		return nil, fmt.Errorf("--listen %.100q: write HOST:PORT, such as 127.0.0.1:8089", f.listen)
	}
	t, err := f.certificate.read()
	if err != nil {
		return nil, err
	}
	ip := net.ParseIP(host)
	if own := host == "localhost" || ip != nil && ip.IsLoopback(); !own && t == nil && !f.insecure {
		return nil, fmt.Errorf("--listen %.100s: %w", f.listen, ui.ErrInsecure)
	}
	for _, name := range f.hosts {
		if name == "" || strings.ContainsAny(name, "/@ ") || strings.Contains(name, ":") && net.ParseIP(name) == nil {
			return nil, fmt.Errorf("--allow-host %.100q: write a name without a port, such as load.example.com", name)
		}
	}
	if f.metricsToken != "" {
		if _, err := ui.ReadToken(f.metricsToken); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// key returns the key of the sessions. Without a file they end with this process.
func (f *uiFlags) key(c *cobra.Command) []byte {
	key, err := ui.Key(f.sessionKey)
	if err != nil {
		cli.Warn(c, "the key of sessions has no file: %v; when this server ends, browsers have to log in again; give --session-key FILE", err)
		return ui.NewKey()
	}
	return key
}

// announcer returns what prints the addresses that log browsers in.
func announcer(c *cobra.Command) func(string) {
	what := "open"
	return func(address string) {
		fmt.Fprintf(c.OutOrStdout(), "%s %s\n", what, address)
		what = "for another browser, open"
	}
}

// listenError adds to an error of listening what to do about it.
func (f *uiFlags) listenError(err error) error {
	advice := "write an address of this machine, such as 127.0.0.1:8089"
	if errors.Is(err, syscall.EADDRINUSE) {
		advice = freePort
	}
	return listenError(f.listen, err, advice)
}

// readArchives reads the archives that are named. Each has the name of its file.
func readArchives(files []string) ([]ui.Archive, error) {
	var all []ui.Archive
	seen := map[string]string{}
	for _, file := range files {
		rep, err := cli.ReadReport(file)
		if err != nil {
			return nil, err
		}
		name := ui.ArchiveName(file)
		if other, twice := seen[name]; twice {
			return nil, cli.Config(fmt.Errorf("ui: %.200s and %.200s have the same name; rename one", other, file))
		}
		seen[name] = file
		all = append(all, ui.Archive{Name: name, Report: rep})
	}
	return all, nil
}

// tryRedis refuses an address that can never be right. A server that does not answer may come back: the page says so.
func (f *uiFlags) tryRedis(c *cobra.Command, reach *ui.Connection, archives bool) error {
	_, err := reach.Client(c.Context())
	switch {
	case err == nil || archives && errors.Is(err, cli.ErrNoRedis):
		return nil
	case c.Context().Err() != nil:
		return context.Cause(c.Context())
	case link.Unanswered(err):
		cli.Warn(c, "%v; the page shows runs as soon as Redis answers", err)
		return nil
	default:
		return err
	}
}
