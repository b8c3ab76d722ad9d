package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
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

// reach connects to the target once, and closes the connection. The error says what to do.
func (f *memberFlags) reach(ctx context.Context, target targets.Target) error {
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
		return cli.Config(fmt.Errorf("reach the target: %w; nothing was sent. %s, or send anyway with --no-check", err, mend(err)))
	}
	return nil
}

// mend says what to do about a target that cannot be reached.
func mend(err error) string {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "The server does not speak TLS: write http:// or ws:// in --url"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "Trust its authority with --cacert FILE, or accept any certificate with -k"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "Write the name in its certificate in --url and its address in --connect-to, or accept any certificate with -k"
	}
	if errors.Is(err, targets.ErrNoQUIC) {
		return "Check the port and firewalls, or leave out --http 3"
	}
	if errors.Is(err, io.EOF) { // only the TLS greeting was sent
		return "The server may not speak TLS: check --url, http:// or https://"
	}
	return "Check --url"
}

// passable lets a worker join a run that has begun, even if it cannot reach the target: the load may be the cause.
func passable(r *run.Run, reach error, log *slog.Logger) error {
	if reach != nil && r.Phase != "waiting" {
		log.Warn("joining although the target cannot be reached, because the run has begun", "err", reach)
		return nil
	}
	return reach
}
