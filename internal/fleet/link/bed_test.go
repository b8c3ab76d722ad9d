package link

import (
	"errors"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// secrets are the strings that no message may show.
func secrets() []string { return []string{"hunter2", "hunter3", "hunter4"} }

// bed is a private Redis.
type bed struct {
	*testing.T
	client rdb.Client
}

// each runs a test on a real and on an embedded server.
func each(t *testing.T, test func(t *testing.T, b *bed)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) { test(t, &bed{T: t, client: client}) })
}

// newBed returns a real server, for tests of what only a real server can do.
func newBed(t *testing.T) *bed {
	t.Helper()
	t.Parallel()
	return &bed{T: t, client: redistest.Start(t).Client()}
}

// wants checks an error: it wraps is, is one line, contains these texts, and shows no secret.
func (b *bed) wants(err, is error, says ...string) {
	b.Helper()
	if err == nil || is != nil && !errors.Is(err, is) {
		b.Fatalf("error %v, want one that is %v", err, is)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			b.Errorf("%q does not say %q", err, text)
		}
	}
	for _, secret := range append(secrets(), "\n") {
		if strings.Contains(err.Error(), secret) {
			b.Errorf("%q shows %q", err, secret)
		}
	}
}
