package targets

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Keys sign requests with AWS Signature Version 4.
type Keys struct {
	AccessKey    string // the id of the secret key; it is sent
	SecretKey    string
	SessionToken string // is sent, if the keys are temporary; "" = they are not
}

// SetKeys replaces the keys. It fails if one is missing or cannot stand in a header; then the old ones stay. The error does
// not quote them.
func (c *Credential) SetKeys(k Keys) error {
	switch {
	case !awsName.MatchString(k.AccessKey):
		return errors.New("access_key: " + idForm)
	case k.SecretKey == "" || strings.ContainsFunc(k.SecretKey, notVisible):
		return errors.New("secret_key: a key is visible ASCII without spaces; give it alone")
	case strings.ContainsFunc(k.SessionToken, notVisible):
		return errors.New("session_token: a token is visible ASCII without spaces; give it alone")
	}
	c.keys.Store(&k)
	return nil
}

// Keys returns the keys; nil if there are none.
func (c *Credential) Keys() *Keys {
	if c == nil {
		return nil
	}
	return c.keys.Load()
}

// setSigV4 takes a setting that follows sigv4:.
func (a *Auth) setSigV4(name, value string) (err error) {
	switch name {
	case "region":
		a.Region, err = value, checkScope(name, value, "us-east-1")
	case "service":
		a.Service, err = value, checkScope(name, value, "s3 or execute-api")
	case "access_key":
		err = a.setAccessKey(value)
	case "secret_key":
		a.Secret, err = secretOf(name, value)
	case "session_token":
		a.SessionToken, err = secretOf(name, value)
	default:
		err = errors.New("there is no such setting; use region, service, access_key, secret_key, session_token")
	}
	return err
}

// setAccessKey takes the id of a key, which is no secret, or its place.
func (a *Auth) setAccessKey(value string) (err error) {
	switch {
	case strings.HasPrefix(value, "@"):
		a.AccessKeyAt, err = secretOf("access_key", value)
	case !awsName.MatchString(value):
		err = errors.New("access_key: " + idForm)
	default:
		a.AccessKey = value
	}
	return err
}

// idForm says what an access key id looks like. A secret key seldom does.
const idForm = "an id has only letters, digits, dots, dashes and underscores; give the id, not the secret key"

// awsName are names that stand in the scope of a signature, with slashes between.
var awsName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// checkScope checks a part of the scope of signatures.
func checkScope(name, value, example string) error {
	if !awsName.MatchString(value) {
		return fmt.Errorf("%s: write a name such as %s", name, example)
	}
	return nil
}

// notVisible reports whether a character cannot be part of a key.
func notVisible(r rune) bool { return r <= ' ' || r >= 0x7f }
