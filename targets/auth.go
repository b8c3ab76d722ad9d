package targets

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/loadctl/loadctl/targets/template"
)

// The kinds of Auth.
const (
	AuthBasic  = "basic"
	AuthBearer = "bearer"
	AuthOAuth2 = "oauth2"
	AuthSigV4  = "sigv4"
)

// maxAuth bounds the text of Spec.Auth, in bytes.
const maxAuth = 4096

// An Auth says where the Authorization header of requests comes from: a Spec.Auth that was read. Only Basic is a secret.
type Auth struct {
	Kind string // AuthBasic, AuthBearer, AuthOAuth2 or AuthSigV4
	// Basic is USER:PASSWORD, if it is part of the setting.
	Basic string
	// Secret is where the rest comes from: USER:PASSWORD, the token, the client secret, or the secret key. It is empty if
	// Basic is given.
	Secret Secret

	// Of AuthOAuth2; "" = is not sent. The first two are never empty.
	TokenURL, ClientID, Scope, Audience string
	// Post sends id and secret of the client in the body (client_secret_post), and not as basic authorization.
	Post bool

	// Of AuthSigV4. The id of the key is AccessKey, or lies at AccessKeyAt. SessionToken may be empty.
	Region, Service, AccessKey string
	AccessKeyAt, SessionToken  Secret
}

// A Secret says where a secret lies on each machine: in a file, or in a variable of the environment. One is not empty.
type Secret struct{ File, Env string }

// String returns the secret's place as ParseAuth reads it.
func (s Secret) String() string {
	if s.Env != "" {
		return "@env:" + s.Env
	}
	return "@" + s.File
}

// authForms lists what can be written.
const authForms = "write basic:USER:PASSWORD, basic:@FILE, bearer:@FILE, oauth2:token_url=URL,client_id=ID,client_secret=@FILE " +
	"or sigv4:region=REGION,service=SERVICE,access_key=ID,secret_key=@FILE; @env:NAME takes a variable instead of a file"

// ParseAuth reads a setting, in one of these forms:
//
//	basic:USER:PASSWORD
//	basic:@FILE
//	bearer:@FILE
//	oauth2:token_url=URL,client_id=ID,client_secret=@FILE[,scope=SCOPE][,audience=AUDIENCE][,auth_style=basic|post]
//	sigv4:region=REGION,service=SERVICE,access_key=ID,secret_key=@FILE[,session_token=@FILE]
//
// @env:NAME may stand for @FILE. An error is one line that says what to do. It quotes nothing, because any part may be
// a secret.
func ParseAuth(text string) (Auth, error) {
	kind, rest, found := strings.Cut(text, ":")
	a := Auth{Kind: kind}
	switch {
	case len(text) > maxAuth:
		return Auth{}, fmt.Errorf("is longer than %d bytes; put secrets into a file", maxAuth)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Auth{}, errors.New("holds a line break or a control character; remove it")
	case !found:
		return Auth{}, errors.New("names no kind; " + authForms)
	}
	var err error
	switch kind {
	case AuthBasic:
		if strings.HasPrefix(rest, "@") {
			a.Secret, err = parseSecret(rest)
			break
		}
		if a.Basic = rest; !strings.Contains(rest, ":") {
			err = errors.New("there is no password; write basic:USER:PASSWORD or basic:@FILE")
		}
	case AuthBearer:
		// A token among the arguments would be in Redis, and in the list of processes.
		if a.Secret, err = parseSecret(rest); err != nil {
			err = fmt.Errorf("%w, as in bearer:@FILE or bearer:@env:NAME", err)
		}
	case AuthOAuth2:
		err = readSettings(rest, a.setOAuth2, "token_url", "client_id", "client_secret")
	case AuthSigV4:
		err = readSettings(rest, a.setSigV4, "region", "service", "access_key", "secret_key")
	default:
		err = errors.New("there is no such kind; " + authForms)
	}
	switch {
	case err != nil && (kind == AuthOAuth2 || kind == AuthSigV4):
		return Auth{}, fmt.Errorf("%s: %w", kind, err)
	case err != nil:
		return Auth{}, err
	}
	return a, nil
}

// envName is the name of a variable, as shells take it.
var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseSecret reads @FILE or @env:NAME.
func parseSecret(text string) (Secret, error) {
	place, found := strings.CutPrefix(text, "@")
	env, isEnv := strings.CutPrefix(place, "env:")
	switch {
	case !found:
		return Secret{}, errors.New("give the place of the secret, not the secret itself")
	case isEnv && !envName.MatchString(env):
		return Secret{}, errors.New("after @env: comes the name of a variable: letters, digits and underscores")
	case isEnv:
		return Secret{Env: env}, nil
	case place == "" || place == "-":
		return Secret{}, errors.New("after @ comes the path of a file that lies on each worker's machine")
	}
	return Secret{File: place}, nil
}

// readSettings reads name=value with commas between, and passes each to set. Those that are required must be there.
func readSettings(text string, set func(name, value string) error, required ...string) error {
	given := map[string]bool{}
	for setting := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(setting, "=")
		switch {
		case !found || value == "":
			return errors.New("each setting is written name=value, with commas between")
		case given[name]:
			return errors.New("a setting is given twice; leave one out")
		}
		given[name] = true
		if err := set(name, value); err != nil {
			return err
		}
	}
	for _, name := range required {
		if !given[name] {
			return fmt.Errorf("%s is missing", name)
		}
	}
	return nil
}

// setOAuth2 takes a setting that follows oauth2:.
func (a *Auth) setOAuth2(name, value string) (err error) {
	switch name {
	case "token_url":
		a.TokenURL, err = value, checkTokenURL(value)
	case "client_id":
		a.ClientID = value
	case "client_secret":
		a.Secret, err = secretOf(name, value)
	case "scope":
		a.Scope = value
	case "audience":
		a.Audience = value
	case "auth_style":
		if a.Post = value == "post"; !a.Post && value != "basic" {
			err = errors.New("auth_style: write basic or post")
		}
	default:
		err = errors.New("there is no such setting; use token_url, client_id, client_secret, scope, audience, auth_style")
	}
	return err
}

// secretOf reads the place of a secret that is a setting.
func secretOf(name, value string) (Secret, error) {
	place, err := parseSecret(value)
	if err != nil {
		return Secret{}, fmt.Errorf("%s: %w; write @FILE or @env:NAME", name, err)
	}
	return place, nil
}

// checkTokenURL checks the URL of a token server.
func checkTokenURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || CheckHost(u) != nil || u.Fragment != "":
		return errors.New("token_url: write https://host[:port]/path")
	case u.User != nil:
		return errors.New("token_url: leave user and password out; they are client_id and client_secret")
	}
	return nil
}

// AuthHost returns the host:port of the token server that workers ask with the client secret; "" if there is none.
func (s Spec) AuthHost() string {
	a, err := ParseAuth(s.Auth)
	if err != nil || a.TokenURL == "" {
		return ""
	}
	u, err := url.Parse(a.TokenURL)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), Port(u))
}

// Basic returns the header value of USER:PASSWORD (RFC 7617).
func Basic(userPassword string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(userPassword))
}

// authorizes reports whether a request of one step gets its Authorization header from Auth.
func (s Spec) authorizes() bool {
	k, u, err := s.ParseURL()
	return err == nil && s.Auth != "" && k.Port != "" && u.User == nil && len(HeaderValues(s.Headers, "Authorization")) == 0
}

// CheckAuth checks the setting, and that a request uses it. The steps must be valid.
func (s Spec) CheckAuth() error {
	if s.Auth == "" {
		return nil
	}
	if _, err := ParseAuth(s.Auth); err != nil {
		return fmt.Errorf("auth: %w", err)
	}
	for _, one := range s.Steps() {
		if one.authorizes() {
			return nil
		}
	}
	return errors.New("auth: no request uses it, because a header Authorization, or user and password in the URL, wins; leave one of them out")
}

// CheckCredential returns an error if requests need a credential that is not there.
func (s Spec) CheckCredential(local Local) error {
	a, err := ParseAuth(s.Auth)
	there := local.Credential.Current() != nil
	if a.Kind == AuthSigV4 {
		there = local.Credential.Keys() != nil
	}
	if s.Auth == "" || err != nil || a.Basic != "" || there {
		return nil
	}
	return errors.New("auth: the credential is missing; put it in Local.Credential")
}

// Authorization returns the line of the header for a request to u. It is empty if the spec's headers have one, or
// nothing says what it holds, or it differs with each request: see signer. A header of the spec wins over the URL, and
// the URL over Auth: the more explicit one.
func (s Spec) Authorization(u *url.URL, c *Credential) (template.Text, error) {
	value, given, err := s.authorizationValue(u, c)
	if err != nil || !given {
		return template.Text{}, err
	}
	return template.Literal("Authorization: ").Then(value).Then(template.Literal("\r\n")), nil
}

// authorizationValue is the value of that header, if there is one.
func (s Spec) authorizationValue(u *url.URL, c *Credential) (value template.Text, given bool, err error) {
	switch {
	case len(HeaderValues(s.Headers, "Authorization")) > 0:
		return template.Text{}, false, nil
	case u.User != nil:
		password, _ := u.User.Password()
		return template.Literal(Basic(u.User.Username() + ":" + password)), true, nil
	case s.Auth == "":
		return template.Text{}, false, nil
	}
	a, err := ParseAuth(s.Auth)
	switch {
	case err != nil:
		return template.Text{}, false, fmt.Errorf("auth: %w", err)
	case a.Basic != "":
		return template.Literal(Basic(a.Basic)), true, nil
	case a.Kind == AuthSigV4:
		return template.Text{}, false, nil
	}
	return template.Live(c.add), true, nil
}

// redactAuth replaces a password in the setting, and all of a text that cannot be read.
func redactAuth(text string) string {
	a, err := ParseAuth(text)
	switch {
	case text == "":
		return ""
	case err != nil:
		return Redacted
	case a.Basic != "":
		return AuthBasic + ":" + Redacted
	}
	return text
}
