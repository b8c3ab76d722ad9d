// Package auth gets what authorizes the requests of a run, on the machine of a worker, and keeps it new: the value of the
// Authorization header, or the keys that sign requests.
//
//	s, err := auth.Open(ctx, "bearer:@/run/token", auth.Options{}, log)
//	if err != nil { … }
//	defer s.Close()
//	target, err := client.New(spec, targets.Local{Credential: s.Credential()})
//
// Guarantees: Open returns with a value, or with an error of one line that says what to do. Later the value changes only
// to a newer one: while a renewal fails, the old one stays. A failure is logged once for each kind, and no log shows a
// secret.
package auth

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/loadctl/loadctl/internal/outage"
	"github.com/loadctl/loadctl/targets"
)

// How often things are repeated.
const (
	lookEvery  = time.Second // how often a file is read; a change is used after this long at most
	firstRetry = time.Second
	mostRetry  = 30 * time.Second
)

// A Source has the credential of one run. All methods may be called on nil: the source of a run without one.
type Source struct {
	credential targets.Credential
	get        getter
	log        *slog.Logger
	stop       context.CancelFunc
	kept       sync.WaitGroup
}

// getter gets the credential, and sets it. next is how long until it should be got again; 0 = it never changes.
type getter func(ctx context.Context, c *targets.Credential) (next time.Duration, err error)

// header is the getter of the value of a header.
func header(get func(ctx context.Context) (value string, next time.Duration, err error)) getter {
	return func(ctx context.Context, c *targets.Credential) (time.Duration, error) {
		value, next, err := get(ctx)
		if err != nil {
			return 0, err
		}
		return next, c.Set(value)
	}
}

// Options of a Source. The zero value trusts the certificates of the system.
type Options struct {
	// CA are PEM certificates that a token server may have too, beside those that the system trusts.
	CA string
}

// Open gets the credential that a targets.Spec.Auth describes, and keeps it new until Close. It returns nil if nothing
// has to be got. It blocks until the value is there, up to some 10 s, or ctx ends.
func Open(ctx context.Context, setting string, o Options, log *slog.Logger) (*Source, error) {
	if setting == "" {
		return nil, nil
	}
	a, err := targets.ParseAuth(setting)
	if err != nil {
		return nil, fmt.Errorf("--auth: %w", err)
	}
	if a.Basic != "" {
		return nil, nil
	}
	s := &Source{log: log}
	switch a.Kind {
	case targets.AuthOAuth2:
		s.get = header(newClient(a, o).token)
	case targets.AuthSigV4:
		s.get = newKeys(a).get
	default:
		s.get = header(local(a))
	}
	next, err := s.get(ctx, &s.credential)
	if err != nil {
		return nil, fmt.Errorf("--auth: %w", err)
	}
	if next > 0 {
		keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
		s.stop = stop
		s.kept.Go(func() { s.keep(keeping, next) })
	}
	return s, nil
}

// Credential returns the value for targets.Local; nil if there is none.
func (s *Source) Credential() *targets.Credential {
	if s == nil {
		return nil
	}
	return &s.credential
}

// Close ends the renewals. The value stays as it is.
func (s *Source) Close() {
	if s == nil || s.stop == nil {
		return
	}
	s.stop()
	s.kept.Wait()
}

// keep renews the value until ctx ends.
func (s *Source) keep(ctx context.Context, next time.Duration) {
	var failures outage.Series
	retry := outage.Backoff{First: firstRetry, Most: mostRetry}
	for {
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return
		}
		after, err := s.get(ctx, &s.credential)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if next = retry.Next(); failures.Failed(err) {
				s.log.Warn("the credential of --auth was not renewed; requests go on with the old one, trying again", "err", err)
			}
			continue
		case failures.Over():
			s.log.Info("the credential of --auth was renewed")
		}
		retry.Reset()
		next = after
	}
}
