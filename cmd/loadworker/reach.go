package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/cli"
	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/targets"
)

// reacher is a target that can test whether it is reachable, without sending a request.
type reacher interface {
	Reach(ctx context.Context) error
}

// reachPatience bounds the connection test.
const reachPatience = 5 * time.Second

// reach connects to the target of a spec once, and closes the connection. The error says what to do.
func (f *memberFlags) reach(ctx context.Context, target targets.Target, s targets.Spec) error {
	t, ok := target.(reacher)
	if !ok || f.noCheck {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	err := t.Reach(limit)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		scheme, _, _ := strings.Cut(strings.ToLower(s.URL), ":")
		return cli.Config(fmt.Errorf("reach the target: %w; nothing was sent. %s, or send anyway with --no-check", err, mend(err, scheme)))
	}
	return nil
}

// withoutTLS returns the scheme that means the same without TLS; "" if there is none.
func withoutTLS(scheme string) string {
	switch scheme {
	case "https", "wss", "grpcs", "rediss":
		return strings.TrimSuffix(scheme, "s")
	}
	return ""
}

// mend says what to do about a target of a scheme that cannot be reached.
func mend(err error, scheme string) string {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "The server does not speak TLS: write " + withoutTLS(scheme) + ":// in --url"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "Trust its authority with --cacert FILE, or accept any certificate with -k"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "Write the name in its certificate in --url and its address in --connect-to, or accept any certificate with -k"
	}
	switch {
	case errors.Is(err, targets.ErrNoQUIC):
		return "Check the port and firewalls, or leave out --http 3"
	case errors.Is(err, targets.ErrNoHTTP2), scheme == "grpc" && !unconnected(err):
		return lacksHTTP2(scheme)
	case errors.Is(err, targets.ErrNoWebSocket) && scheme == "ws":
		return "Check path and login in --url, or write wss:// if the server wants TLS"
	case errors.Is(err, targets.ErrNoWebSocket):
		return "Check path and login in --url"
	case errors.Is(err, io.EOF) && withoutTLS(scheme) != "": // only the TLS greeting was sent
		return "The server may not speak TLS: check --url, " + withoutTLS(scheme) + ":// or " + scheme + "://"
	}
	return "Check --url"
}

// unconnected reports whether there was not even a connection.
func unconnected(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok
}

// lacksHTTP2 is mend for a server that does not speak HTTP/2.
func lacksHTTP2(scheme string) string {
	switch scheme {
	case "grpcs":
		return "gRPC needs HTTP/2: check the port in --url"
	case "grpc":
		return "gRPC needs HTTP/2: check the port in --url, or write grpcs:// if the server wants TLS"
	case "http":
		return "Leave out --http 2, or write https:// if the server wants TLS"
	}
	return "Leave out --http 2"
}

// passable lets a worker join a run that has begun, even if it cannot reach the target: the load may be the cause.
func passable(r *run.Run, reach error, log *slog.Logger) error {
	if reach != nil && r.Phase != "waiting" {
		log.Warn("joining although the target cannot be reached, because the run has begun", "err", reach)
		return nil
	}
	return reach
}
