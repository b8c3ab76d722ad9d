package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/server/arrivals"
	"github.com/loadctl/loadctl/internal/server/shop"
	"github.com/loadctl/loadctl/internal/server/site"
)

// NewTargetCommand returns the command that is a server for tests, which counts what arrives.
func NewTargetCommand() *cobra.Command {
	var flags targetFlags
	c := &cobra.Command{
		Use:   "target",
		Short: "Start a test server that counts requests",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			server, err := flags.start()
			if err != nil {
				return err
			}
			defer debug.SetGCPercent(debug.SetGCPercent(garbage))
			return flags.serve(c, server)
		},
	}
	c.Long, c.Example = targetHelp(), targetExamples
	flags.AddFlags(c)
	return cli.Patient(c) // print the whole summary, however slowly it is read
}

// targetFlags say how the server listens and answers, and for how long.
type targetFlags struct {
	output                  cli.Output
	options                 arrivals.Options
	length, latency, jitter cli.Duration
	service                 cli.Duration
	stalls                  stalls
	shop                    bool
	routes                  routes
	unique                  uniques
	streams                 streamFlags
	certificate             certificate
	tcp, udp, ws, grpc      bool
}

func (f *targetFlags) AddFlags(c *cobra.Command) {
	f.output.AddFlags(c, "text", "json")
	s := c.Flags()
	s.StringVar(&f.options.Addr, "listen", "127.0.0.1:8080", "`HOST:PORT` to listen on, port 0 = a free one; or unix:/path")
	s.Var(&f.length, "for", "how long to serve; 0 = until Ctrl-C")
	s.Var(&f.latency, "latency", "delay of each answer")
	s.Var(&f.jitter, "jitter", "additional delay, uniformly random up to this")
	s.IntVar(&f.options.Capacity, "capacity", 0, "serve at most `N` requests at a time, queue the others; 0 = no limit")
	s.Var(&f.service, "service-time", "how long a request occupies one of --capacity; 0 = 10ms")
	s.IntVar(&f.options.Status, "status", 200, "status of the answers, but for those of routes")
	s.Float64Var(&f.options.ErrorShare, "error-share", 0, "`SHARE` of answers with --error-status, 0 to 1, such as 0.01")
	s.IntVar(&f.options.ErrorStatus, "error-status", 500, "status of the answers chosen by --error-share")
	s.Var(&f.stalls, "stall", "`AT:LENGTH`, such as 10s:2s: AT after the first arrival, hold all answers back for LENGTH; may be repeated")
	s.Var(&f.routes, "route", "`PATTERN=SETTINGS`: latency, jitter, status, stall and body of some answers, such as '/slow/*=latency=50ms,status=503'; may be repeated")
	s.BoolVar(&f.shop, "shop", false, "serve a small shop: logins with tokens, items, a cart, payments. See docs/target.md#a-shop")
	s.Var(&f.unique, "unique", "count different values, and those that came more than once, of `WHAT` in requests: "+site.UniqueForms+"; may be repeated")
	f.streams.AddFlags(c)
	s.BoolVar(&f.tcp, "tcp", false, "instead of HTTP, answer each line over TCP with the same line")
	s.BoolVar(&f.udp, "udp", false, "instead of HTTP, answer each datagram of UDP with the same datagram")
	s.BoolVar(&f.ws, "ws", false, "instead of HTTP, answer each message of WebSocket with the same message; with --tls-cert it is wss")
	s.BoolVar(&f.grpc, "grpc", false, "instead of HTTP, serve loadctl.Echo over gRPC, with reflection. See docs/grpc.md")
	f.certificate.AddFlags(c, "serve https (with --ws wss, with --grpc grpcs)")
	s.BoolVar(&f.options.HTTP3, "http3", false, "with --tls-cert: serve HTTP/3 too, at the same port over UDP")
}

// garbage is the garbage that a target collects at once, in percent of what it keeps. That it keeps little would mean several
// collections a second, each of which delays answers on few cores by milliseconds.
const garbage = 400

// usualService is the service time if only a capacity is given.
const usualService = 10 * time.Millisecond

// longestWait bounds added delays, so that sums do not overflow.
const longestWait = 365 * 24 * time.Hour

// start checks the flags and listens.
func (f *targetFlags) start() (*arrivals.Server, error) {
	if err := f.output.Check(); err != nil {
		return nil, err
	}
	if err := cmp.Or(f.checkAnswers(), f.setEcho(), f.streams.check(f.options.Status)); err != nil {
		return nil, cli.Config(err)
	}
	options := f.options
	options.Latency, options.Jitter, options.NoPaths = time.Duration(f.latency), time.Duration(f.jitter), true
	options.ServiceTime = cmp.Or(time.Duration(f.service), usualService)
	err := f.streams.open()
	if err != nil {
		return nil, cli.Config(err)
	}
	options.Streams = f.streams.log
	if options.Site, err = f.site(); err != nil {
		return nil, cli.Config(fmt.Errorf("--route %w", err))
	}
	options.Unique = f.unique.list
	if options.TLS, err = f.certificate.read(); err != nil {
		return nil, cli.Config(err)
	}
	if options.HTTP3 && (options.TLS == nil || strings.HasPrefix(options.Addr, "unix:")) {
		return nil, cli.Config(errors.New("--http3: give --tls-cert and --tls-key too, and a HOST:PORT in --listen"))
	}
	if err := checkAddress(options.Addr); err != nil {
		return nil, cli.Config(err)
	}
	server, err := arrivals.Start(options)
	return server, cli.Config(f.listenError(err))
}

// site returns what the flags serve beyond one answer for all; nil if that is nothing, because the plain server is
// faster.
func (f *targetFlags) site() (*site.Site, error) {
	if !f.shop && len(f.routes) == 0 && len(f.unique.list) == 0 && !f.streams.given() {
		return nil, nil
	}
	all := f.streams.routes()
	if f.shop {
		all = append(all, shop.Routes()...)
	}
	for _, r := range f.routes {
		all = site.Change(all, r)
	}
	return site.New(f.options.Status, all)
}

// setEcho chooses what the server speaks. An echo has nothing of HTTP.
func (f *targetFlags) setEcho() error {
	o := &f.options
	switch {
	case !f.tcp && !f.udp && !f.ws && !f.grpc:
		return nil
	case several(f.tcp, f.udp, f.ws, f.grpc):
		return errors.New("--tcp, --udp, --ws and --grpc: give one of them, and start a second server for another")
	case f.udp:
		o.Echo = arrivals.Datagrams
	case f.ws:
		o.Echo = arrivals.Messages
	case f.grpc:
		o.Echo = arrivals.Calls
	default:
		o.Echo = arrivals.Lines
	}
	if f.udp && strings.HasPrefix(o.Addr, "unix:") {
		return errors.New("--udp: datagrams need an address, such as --listen 127.0.0.1:8080")
	}
	if f.shop || f.streams.given() || len(f.routes) > 0 || len(f.unique.list) > 0 || o.Capacity > 0 || o.Status != 200 || o.ErrorShare > 0 || !f.ws && !f.grpc && f.certificate.given() || o.HTTP3 {
		return errors.New("--tcp, --udp, --ws, --grpc: an echo takes only --latency, --jitter and --stall; leave other settings of answers out")
	}
	return nil
}

func (f *targetFlags) checkAnswers() error {
	for _, status := range []struct {
		flag  string
		value int
	}{{"--status", f.options.Status}, {"--error-status", f.options.ErrorStatus}} {
		if status.value < 200 || status.value > 599 {
			return fmt.Errorf("%s %d: give a status from 200 to 599", status.flag, status.value)
		}
	}
	if share := f.options.ErrorShare; !(share >= 0 && share <= 1) { // NaN is in no range
		return fmt.Errorf("--error-share %v: give a share from 0 to 1, such as 0.01 for every hundredth answer", share)
	}
	if time.Duration(max(f.latency, f.jitter)) > longestWait {
		return errors.New("--latency, --jitter: give at most 365d each")
	}
	return f.checkCapacity()
}

// checkCapacity refuses settings that no queue can have.
func (f *targetFlags) checkCapacity() error {
	if f.options.Capacity < 0 || f.options.Capacity > arrivals.MaxCapacity {
		return fmt.Errorf("--capacity %d: give a number up to %d, or 0 to serve all at once", f.options.Capacity, arrivals.MaxCapacity)
	}
	if service := time.Duration(f.service); service > arrivals.MaxServiceTime {
		return fmt.Errorf("--service-time %v: give at most 1h", service)
	}
	if f.service > 0 && f.options.Capacity == 0 {
		return errors.New("--service-time: give --capacity N too, the number of requests served at the same time")
	}
	return nil
}

// checkAddress refuses texts that are no address to listen on.
func checkAddress(address string) error {
	path, unix := strings.CutPrefix(address, "unix:")
	_, port, err := net.SplitHostPort(address)
	if unix && path != "" || !unix && err == nil && port != "" {
		return nil
	}
	return fmt.Errorf("--listen %.100q: write HOST:PORT, such as 127.0.0.1:8080, or unix:/path", address)
}

// listenError adds to an error of listening what to do about it; nil stays nil.
func (f *targetFlags) listenError(err error) error {
	advice := "write an address of this machine, such as 127.0.0.1:8080, or unix:/path"
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE) && strings.HasPrefix(f.options.Addr, "unix:"):
		advice = "give another path, or remove the file if nobody serves there"
	case errors.Is(err, syscall.EADDRINUSE):
		advice = freePort
	}
	return listenError(f.options.Addr, err, advice)
}

// serve counts until the command's context or --for ends, and prints the summary. That is its normal end, not an error.
func (f *targetFlags) serve(c *cobra.Command, server *arrivals.Server) error {
	defer cli.Close(server)
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	if f.length > 0 {
		defer time.AfterFunc(time.Duration(f.length), cancel).Stop()
	}
	where := server.URL()
	if path, ok := strings.CutPrefix(server.Addr(), "unix:"); ok {
		where += ", unix socket " + path
	}
	progress, out := io.Discard, c.OutOrStdout()
	announce := c.ErrOrStderr()
	if f.output.Format == "text" {
		progress, announce = out, out
	}
	fmt.Fprintln(announce, "counting at", where)
	go server.Schedule(ctx, f.stalls)
	summary := server.Collect(ctx, progress)
	return cmp.Or(f.output.Print(out, summary, summary.WriteText), f.streams.close())
}

// several tells whether more than one of the flags is given.
func several(given ...bool) bool {
	n := 0
	for _, g := range given {
		if g {
			n++
		}
	}
	return n > 1
}
