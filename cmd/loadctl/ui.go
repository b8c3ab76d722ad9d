package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/ui"
	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/output/printable"
)

func newUICommand(server *cli.Redis) *cobra.Command {
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
it, and remove dead workers. Watching is no sign of life for --deadman; commands are.

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
	certificateFile, keyFile string
	sessionKey, metricsToken string
}

func (f *uiFlags) AddFlags(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.listen, "listen", "127.0.0.1:8089", "`HOST:PORT` to listen on, port 0 = a free one")
	s.BoolVar(&f.control, "control", false, "let the page give commands; without it the page is read-only")
	s.StringArrayVar(&f.hosts, "allow-host", nil, "a `NAME` by which browsers call this server, without a port; may be repeated")
	s.StringVar(&f.certificateFile, "tls-cert", "", "serve https with the certificate (PEM) in `FILE`")
	s.StringVar(&f.keyFile, "tls-key", "", "private key of --tls-cert (PEM) in `FILE`")
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
	pushed, err := newPush()
	if err != nil {
		return err
	}
	archives, err := readArchives(files)
	if err != nil {
		return err
	}
	reach := &reached{server: server}
	defer reach.close()
	if err := f.tryRedis(c, reach, len(archives) > 0); err != nil {
		return err
	}
	o := ui.Options{Version: version, Connect: reach.connect, Archives: archives, Control: f.control, Hosts: f.hosts, Key: f.key(c), Announce: announcer(c)}
	if f.metricsToken != "" {
		o.MetricsToken = f.readToken
	}
	var last func()
	o.Metrics, last = pushed.serve(c, f.nativeOnly)
	defer last()
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
	t, err := f.readCertificate()
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
		if _, err := f.readToken(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// readCertificate returns the TLS configuration; nil if there is none.
func (f *uiFlags) readCertificate() (*tls.Config, error) {
	switch {
	case f.certificateFile == "" && f.keyFile == "":
		return nil, nil
	case f.keyFile == "":
		return nil, errors.New("--tls-cert: give its key too, --tls-key FILE")
	case f.certificateFile == "":
		return nil, errors.New("--tls-key: give its certificate too, --tls-cert FILE")
	}
	pair, err := tls.LoadX509KeyPair(f.certificateFile, f.keyFile)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w; give the names of two PEM files", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// leastToken is the least length of the token of /metrics.
const leastToken = 16

// readToken reads the token of /metrics. The file may change while the server runs.
func (f *uiFlags) readToken() (string, error) {
	text, err := os.ReadFile(f.metricsToken)
	if err != nil {
		return "", fmt.Errorf("--metrics-token-file: %w; give a file with the token", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < leastToken {
		return "", fmt.Errorf("--metrics-token-file %.200s: the token has less than %d characters; make one with: openssl rand -hex 32", f.metricsToken, leastToken)
	}
	return token, nil
}

// key returns the key of the sessions. Without a file they end with this process.
func (f *uiFlags) key(c *cobra.Command) []byte {
	path := f.sessionKey
	var err error
	if path == "" {
		path, err = stateFile("ui.key")
	}
	var key []byte
	if err == nil {
		key, err = ui.Key(path)
	}
	if err != nil {
		printable.Fprintf(c.ErrOrStderr(), "warning: the key of sessions has no file: %v; when this server ends, browsers have to log in again; give --session-key FILE\n", err)
		return ui.NewKey()
	}
	return key
}

// stateFile returns the path of a file that programs keep for themselves.
func stateFile(name string) (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "loadctl", name), nil
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
		advice = "give another port, or 0 for a free one"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // without the address, which is named already
	}
	return fmt.Errorf("--listen %.100s: %w; %s", f.listen, err, advice)
}

// readArchives reads the archives that are named. Each has the name of its file.
func readArchives(files []string) ([]ui.Archive, error) {
	var all []ui.Archive
	seen := map[string]string{}
	for _, file := range files {
		rep, err := readReport(file)
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
func (f *uiFlags) tryRedis(c *cobra.Command, reach *reached, archives bool) error {
	_, err := reach.connect(c.Context())
	switch {
	case err == nil || archives && errors.Is(err, cli.ErrNoRedis):
		return nil
	case c.Context().Err() != nil:
		return context.Cause(c.Context())
	case link.Unanswered(err):
		printable.Fprintf(c.ErrOrStderr(), "warning: %v; the page shows runs as soon as Redis answers\n", err)
		return nil
	default:
		return err
	}
}

// reached is the client of Redis, once it was reached. The client itself reaches the server again after that.
type reached struct {
	server *cli.Redis
	mu     sync.Mutex
	client rdb.Client
}

// connect returns the client. It may be called from any goroutine; only one tries at a time.
func (r *reached) connect(ctx context.Context) (rdb.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		return r.client, nil
	}
	client, err := r.server.Connect(ctx)
	if err == nil {
		r.client = client
	}
	return client, err
}

// close closes the client.
func (r *reached) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		cli.Close(r.client)
	}
}
