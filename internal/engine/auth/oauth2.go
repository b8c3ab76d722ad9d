package auth

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/loadctl/loadctl/targets"
)

// fetchPatience bounds a call of the token server.
const fetchPatience = 10 * time.Second

// unknownLifetime is that of a token whose server does not say it.
const unknownLifetime = 5 * time.Minute

// A client gets tokens with client credentials (RFC 6749, 4.4).
type client struct {
	auth targets.Auth
	http *http.Client
}

// newClient returns a client with a connection for each call: calls are minutes apart. It follows no redirects, as each
// would get the client secret. As for requests, proxies of the environment are not used.
func newClient(a targets.Auth, o Options) *client {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext}
	if o.CA != "" {
		trusted, err := x509.SystemCertPool()
		if err != nil {
			trusted = x509.NewCertPool()
		}
		trusted.AppendCertsFromPEM([]byte(o.CA))
		transport.TLSClientConfig = &tls.Config{RootCAs: trusted}
	}
	return &client{a, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// token gets a token. The secret is read each time, because it may be rotated too.
func (c *client) token(ctx context.Context) (value string, next time.Duration, err error) {
	if isPipe(c.auth.Secret.File) {
		return "", 0, fmt.Errorf("client_secret: %s: is a pipe, but the secret is read for each token; give a file", c.auth.Secret)
	}
	secret, err := read(c.auth.Secret)
	if err != nil {
		return "", 0, fmt.Errorf("client_secret: %w", err)
	}
	config := clientcredentials.Config{
		ClientID: c.auth.ClientID, ClientSecret: secret, TokenURL: c.auth.TokenURL,
		Scopes: strings.Fields(c.auth.Scope), AuthStyle: oauth2.AuthStyleInHeader,
	}
	if c.auth.Post {
		config.AuthStyle = oauth2.AuthStyleInParams
	}
	if c.auth.Audience != "" {
		config.EndpointParams = url.Values{"audience": {c.auth.Audience}}
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, c.http), fetchPatience)
	defer cancel()
	began := time.Now()
	token, err := config.Token(ctx)
	if err == nil {
		err = check(token)
	}
	if err != nil {
		return "", 0, c.explain(err, secret)
	}
	lifetime := unknownLifetime
	if !token.Expiry.IsZero() {
		lifetime = token.Expiry.Sub(began)
	}
	return "Bearer " + token.AccessToken, renewAfter(lifetime, rand.Float64()), nil
}

// check refuses a token that requests cannot send.
func check(token *oauth2.Token) error {
	if token.Type() != "Bearer" {
		return errors.New("the token is not of type bearer")
	}
	if len(token.AccessToken) > mostBytes {
		return fmt.Errorf("the token is longer than %d bytes", mostBytes)
	}
	return checkToken(token.AccessToken, "access_token")
}

// renewAfter returns when to renew a token: at 80 % of its lifetime, less up to 5 % of it by chance. So a fleet whose
// workers started together does not call the token server in one moment. Not more often than each 100 ms.
func renewAfter(lifetime time.Duration, chance float64) time.Duration {
	return max(100*time.Millisecond, time.Duration(float64(lifetime)*(0.8-0.05*chance)))
}

// explain returns an error for a log: the server's reason without the rest of its answer, which could have the secret.
func (c *client) explain(err error, secret string) error {
	u, _ := url.Parse(c.auth.TokenURL) // without an error: ParseAuth has checked it
	what := "get a token from " + u.Host
	refusal, refused := errors.AsType[*oauth2.RetrieveError](err)
	if !refused {
		failure, is := errors.AsType[*url.Error](err)
		if is {
			err = failure.Err // without the URL
		}
		return fmt.Errorf("%s: %w; check token_url", what, hide(err, secret))
	}
	why := refusal.ErrorCode
	if refusal.ErrorDescription != "" {
		why += ": " + refusal.ErrorDescription
	}
	if strings.Contains(why, secret) || strings.Contains(why, url.QueryEscape(secret)) {
		why = ""
	}
	kind := fmt.Sprintf("status %d", refusal.Response.StatusCode)
	return refusedError{kind, fmt.Sprintf("%s: %s, %.200s; check token_url, client_id and client_secret", what, kind, cmp.Or(why, "without a reason"))}
}

// refusedError is an answer of the token server that has no token.
type refusedError struct{ kind, text string }

func (e refusedError) Error() string { return e.text }

// Kind is for outage.Series.
func (e refusedError) Kind() string { return e.kind }

// hide returns err, or another error if the text of err has the secret in it.
func hide(err error, secret string) error {
	if strings.Contains(err.Error(), secret) {
		return errors.New("an answer that has the client secret in it")
	}
	return err
}
