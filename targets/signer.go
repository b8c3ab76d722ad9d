package targets

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go/aws-http-auth/credentials"
	"github.com/aws/smithy-go/aws-http-auth/sigv4"
	v4 "github.com/aws/smithy-go/aws-http-auth/v4"

	"github.com/loadctl/loadctl/targets/template"
)

// A signer signs the requests of a message with AWS Signature Version 4. It never changes. The signature covers method,
// path, query, the body, and the headers that covered names.
type signer struct {
	credential      *Credential
	region, service string
	v4              *sigv4.Signer
	headers         []int  // indexes of the spec's headers that it covers
	body            []byte // SHA-256 of the body; nil if that varies
}

// newSigner returns the signer of m; nil if m is not signed. Texts of m are there, up to its head.
func newSigner(m *message, credential *Credential) (*signer, error) {
	s := m.spec
	if !strings.HasPrefix(s.Auth, AuthSigV4+":") || m.url.User != nil || len(values(s.Headers, "Authorization")) > 0 {
		return nil, nil
	}
	a, err := ParseAuth(s.Auth)
	if err == nil {
		err = checkQuery(m.url.RawQuery)
	}
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	g := &signer{credential: credential, region: a.Region, service: a.Service}
	for i, h := range s.Headers {
		if slices.Contains(signing(), http.CanonicalHeaderKey(h.Name)) {
			return nil, fmt.Errorf("header %s: is part of the signature (auth sigv4); leave it out", h.Name)
		}
		if (covered{}).IsSigned(strings.ToLower(h.Name)) {
			g.headers = append(g.headers, i)
		}
	}
	if !m.body.Varies() {
		g.body = sum(m.body.Append(nil, m.request))
	}
	g.v4 = sigv4.New(func(o *v4.SignerOptions) {
		o.HeaderRules = covered{}
		o.DisableDoublePathEscape, o.AddPayloadHashHeader = g.isS3(), g.isS3()
	})
	return g, nil
}

// signing are the headers that a signer adds, in this order.
func signing() []string {
	return []string{"X-Amz-Content-Sha256", "X-Amz-Date", "X-Amz-Security-Token", "Authorization"}
}

// covered says which headers a signature covers: those that AWS demands.
type covered struct{}

// IsSigned implements v4.SignedHeaderRules.
func (covered) IsSigned(lower string) bool {
	return lower == "host" || lower == "content-type" || strings.HasPrefix(lower, "x-amz-")
}

// isS3 reports whether paths are keys of objects. Those are not normalized, and are escaped once.
func (g *signer) isS3() bool {
	return g.service == "s3" || g.service == "s3-object-lambda" || g.service == "s3-outposts"
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
func (g *signer) lines(m *message, r template.Request, body []byte) (b []byte) {
	keys := g.credential.currentKeys()
	if keys == nil {
		return nil
	}
	request, hash := g.request(m, r), g.body
	if hash == nil {
		hash = sum(body)
	}
	// It fails only if it has to read the body.
	_ = g.v4.SignRequest(&sigv4.SignRequestInput{
		Request: request, PayloadHash: hash, Service: g.service, Region: g.region, Time: time.Unix(0, r.Time),
		Credentials: credentials.Credentials{AccessKeyID: keys.AccessKey, SecretAccessKey: keys.SecretKey, SessionToken: keys.SessionToken},
	})
	for _, name := range signing() {
		if value := request.Header.Get(name); value != "" {
			b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
		}
	}
	return b
}

// request returns what is signed, but for the body.
func (g *signer) request(m *message, r template.Request) *http.Request {
	q := &http.Request{Method: m.spec.method(), Header: http.Header{}, Host: hostHeader(m.url)}
	for _, i := range g.headers {
		// Spaces count as one, as the algorithm says.
		name, value := m.spec.Headers[i].Name, strings.Join(strings.Fields(string(m.values[i].Append(nil, r))), " ")
		if q.Header.Add(name, value); http.CanonicalHeaderKey(name) == "Host" {
			q.Host = value
		}
	}
	sent, query, _ := strings.Cut(string(m.target.Append(nil, r)), "?")
	plain, _ := url.PathUnescape(sent) // without an error: it was parsed
	if q.URL = (&url.URL{Path: plain, RawPath: normal(sent), RawQuery: signable(query)}); g.isS3() {
		q.URL.RawPath = objectPath(plain)
		return q
	}
	q.URL.Path, _ = url.PathUnescape(q.URL.RawPath)
	return q
}

// normal returns a path as the signature covers it: without empty segments, "." and "..".
func normal(sent string) string {
	clean := path.Clean(sent)
	if strings.HasSuffix(sent, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

// objectPath escapes the key of an object. Slashes stay, also those that were escaped.
func objectPath(plain string) string {
	var b []byte
	for i, segment := range strings.Split(plain, "/") {
		if i > 0 {
			b = append(b, '/')
		}
		b = percent(b, segment)
	}
	return string(b)
}

// signable returns a query for package net/url, which takes a semicolon for a mistake.
func signable(query string) string { return strings.ReplaceAll(query, ";", "%3B") }

// checkQuery refuses a query whose signature would be wrong. AWS sorts names and values after they are escaped, and the
// library before. See https://github.com/aws/aws-sdk-go-v2/issues/2969.
func checkQuery(query string) error {
	all, err := url.ParseQuery(signable(query))
	if err != nil {
		return errors.New("sigv4: a % in the query begins no escape; write %25")
	}
	names := make([]string, 0, len(all))
	sorted := true
	for name, values := range all {
		names = append(names, name)
		sorted = sorted && alikeEscaped(values)
	}
	if !sorted || !alikeEscaped(names) {
		return errors.New("sigv4: names or values of the query sort differently once they are escaped, which cannot be signed; rename one")
	}
	return nil
}

// alikeEscaped reports whether texts have the same order once they are escaped.
func alikeEscaped(texts []string) bool {
	slices.Sort(texts)
	return slices.IsSortedFunc(texts, func(x, y string) int {
		return strings.Compare(string(percent(nil, x)), string(percent(nil, y)))
	})
}

// sum returns the SHA-256.
func sum(body []byte) []byte {
	hash := sha256.Sum256(body)
	return hash[:]
}
