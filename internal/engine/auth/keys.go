package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// keys reads the keys of AWS from this machine.
type keys struct{ access, secret, session part }

// A part of the keys is a text, or has a place.
type part struct {
	name string
	from targets.Secret
	text string
	once bool // text is what it stays
}

func newKeys(a targets.Auth) *keys {
	return &keys{
		access:  part{name: "access_key", from: a.AccessKeyAt, text: a.AccessKey},
		secret:  part{name: "secret_key", from: a.Secret},
		session: part{name: "session_token", from: a.SessionToken},
	}
}

// get is the getter.
func (k *keys) get(_ context.Context, c *targets.Credential) (next time.Duration, err error) {
	for _, p := range []*part{&k.access, &k.secret, &k.session} {
		if err := p.read(); err != nil {
			return 0, err
		}
		if !p.once {
			next = lookEvery
		}
	}
	return next, c.SetKeys(targets.Keys{AccessKey: k.access.text, SecretKey: k.secret.text, SessionToken: k.session.text})
}

// read reads the part, if that may give another text than before.
func (p *part) read() error {
	if p.from == (targets.Secret{}) {
		p.once = true
	}
	if p.once {
		return nil
	}
	once := isFixed(p.from)
	text, err := read(p.from)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.text, p.once = text, once
	return nil
}
