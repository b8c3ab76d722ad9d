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

// reacher is a target that can tell whether it can be reached, without a request.
type reacher interface {
	Reach(ctx context.Context) error
}

// reachPatience is how long connecting once may take.
const reachPatience = 5 * time.Second

// reach connects to the target once, and hangs up. The error says what to do.
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
		return cli.Config(fmt.Errorf("reach the target: %w; nothing was sent. %s, or fire anyway with --no-check", err, mend(err)))
	}
	return nil
}

// mend is what to do about a target that cannot be reached.
func mend(err error) string {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "That server speaks no TLS, so write http:// in --url"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "Trust its authority with --cacert FILE, or any with -k"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "Write the name of its certificate in --url and where it is in --connect-to, or accept any with -k"
	}
	if errors.Is(err, io.EOF) { // nothing was sent but the greeting of TLS
		return "That server may speak no TLS: check --url, http:// or https://"
	}
	return "Check --url"
}

// passable lets a worker join a run that has begun although it cannot reach the target: that may be what the run brought about.
func passable(r *run.Run, reach error, log *slog.Logger) error {
	if reach != nil && r.Phase != "waiting" {
		log.Warn("joining all the same, the run has begun", "err", reach)
		return nil
	}
	return reach
}
