package wire

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/sigv4"
	"github.com/loadctl/loadctl/targets/template"
)

// A signer signs the requests of a message. It never changes.
type signer struct {
	credential *targets.Credential
	v4         *sigv4.Signer
	headers    []int  // indexes of the spec's headers that the signature covers
	body       []byte // hash of the body; nil if that varies
}

// newSigner returns the signer of m; nil if m is not signed. Texts of m are there, up to its head.
func newSigner(m *message, credential *targets.Credential) (*signer, error) {
	s := m.spec
	if !strings.HasPrefix(s.Auth, targets.AuthSigV4+":") || m.url.User != nil || len(targets.HeaderValues(s.Headers, "Authorization")) > 0 {
		return nil, nil
	}
	a, err := targets.ParseAuth(s.Auth)
	if err == nil {
		err = sigv4.CheckQuery(m.url.RawQuery)
	}
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	g := &signer{credential: credential, v4: sigv4.New(a.Region, a.Service)}
	for i, h := range s.Headers {
		if slices.Contains(sigv4.Headers(), http.CanonicalHeaderKey(h.Name)) {
			return nil, fmt.Errorf("header %s: is part of the signature (auth sigv4); leave it out", h.Name)
		}
		if sigv4.Covers(h.Name) {
			g.headers = append(g.headers, i)
		}
	}
	if !m.body.Varies() {
		g.body = sigv4.Sum(m.body.Append(nil, m.request))
	}
	return g, nil
}

// sign completes a message: b is its head up to where the signature follows.
func (m *message) sign(b []byte, r template.Request) []byte {
	at := len(b)
	b = m.body.Append(b, r)
	rest := m.signer.lines(m, r, b[at:])
	if m.sized {
		rest = append(strconv.AppendInt(append(rest, "Content-Length: "...), int64(len(b)-at), 10), "\r\n"...)
	}
	return slices.Insert(b, at, append(rest, "\r\n"...)...)
}

// lines returns the headers that sign a request: none before there are keys.
func (g *signer) lines(m *message, r template.Request, body []byte) []byte {
	keys := g.credential.Keys()
	if keys == nil {
		return nil
	}
	hash := g.body
	if hash == nil {
		hash = sigv4.Sum(body)
	}
	q := sigv4.Request{Method: m.spec.EffectiveMethod(), Host: hostHeader(m.url), Target: string(m.target.Append(nil, r))}
	for _, i := range g.headers {
		q.Headers = append(q.Headers, targets.Header{Name: m.spec.Headers[i].Name, Value: string(m.values[i].Append(nil, r))})
	}
	return g.v4.Append(nil, *keys, q, hash, time.Unix(0, r.Time))
}
