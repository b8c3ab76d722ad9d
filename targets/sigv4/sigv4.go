// Package sigv4 signs requests with AWS Signature Version 4, over https://pkg.go.dev/github.com/aws/smithy-go/aws-http-auth.
// It knows which headers a signature covers, and how paths and queries are written for it.
//
//	s := sigv4.New("eu-central-1", "execute-api")
//	headers := s.Append(nil, keys, request, sigv4.Sum(body), time.Now())
package sigv4

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go/aws-http-auth/credentials"
	aws "github.com/aws/smithy-go/aws-http-auth/sigv4"
	v4 "github.com/aws/smithy-go/aws-http-auth/v4"

	"github.com/loadctl/loadctl/targets"
)

// A Signer signs requests for one service in a region. It never changes, so any number of goroutines can share it.
type Signer struct {
	region, service string
	v4              *aws.Signer
}

// New returns a Signer.
func New(region, service string) *Signer {
	s := &Signer{region: region, service: service}
	s.v4 = aws.New(func(o *v4.SignerOptions) {
		o.HeaderRules = covered{}
		o.DisableDoublePathEscape, o.AddPayloadHashHeader = s.isS3(), s.isS3()
	})
	return s
}

// A Request is what a signature covers beside the body.
type Request struct {
	Method  string
	Host    string
	Target  string           // path and query, as they are sent
	Headers []targets.Header // those that Covers names
}

// Append appends the lines of the headers that sign a request: Headers. hash is the Sum of the body.
func (s *Signer) Append(b []byte, keys targets.Keys, r Request, hash []byte, now time.Time) []byte {
	request := s.http(r)
	// It fails only if it has to read the body.
	_ = s.v4.SignRequest(&aws.SignRequestInput{
		Request: request, PayloadHash: hash, Service: s.service, Region: s.region, Time: now,
		Credentials: credentials.Credentials{AccessKeyID: keys.AccessKey, SecretAccessKey: keys.SecretKey, SessionToken: keys.SessionToken},
	})
	for _, name := range Headers() {
		if value := request.Header.Get(name); value != "" {
			b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
		}
	}
	return b
}

// http returns a request as the library takes it.
func (s *Signer) http(r Request) *http.Request {
	q := &http.Request{Method: r.Method, Header: http.Header{}, Host: r.Host}
	for _, h := range r.Headers {
		value := strings.Join(strings.Fields(h.Value), " ") // spaces count as one, as the algorithm says
		if q.Header.Add(h.Name, value); http.CanonicalHeaderKey(h.Name) == "Host" {
			q.Host = value
		}
	}
	sent, query, _ := strings.Cut(r.Target, "?")
	plain, _ := url.PathUnescape(sent) // without an error: it was parsed
	if q.URL = (&url.URL{Path: plain, RawPath: normal(sent), RawQuery: signable(query)}); s.isS3() {
		q.URL.RawPath = objectPath(plain)
		return q
	}
	q.URL.Path, _ = url.PathUnescape(q.URL.RawPath)
	return q
}

// Headers are the headers that a signature consists of, in this order.
func Headers() []string {
	return []string{"X-Amz-Content-Sha256", "X-Amz-Date", "X-Amz-Security-Token", "Authorization"}
}

// Covers reports whether a signature covers a header.
func Covers(name string) bool { return covered{}.IsSigned(strings.ToLower(name)) }

// covered says which headers a signature covers: those that AWS demands.
type covered struct{}

// IsSigned implements v4.SignedHeaderRules.
func (covered) IsSigned(lower string) bool {
	return lower == "host" || lower == "content-type" || strings.HasPrefix(lower, "x-amz-")
}

// isS3 reports whether paths are keys of objects. Those are not normalized, and are escaped once.
func (s *Signer) isS3() bool {
	return s.service == "s3" || s.service == "s3-object-lambda" || s.service == "s3-outposts"
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
		b = targets.Percent(b, segment)
	}
	return string(b)
}

// signable returns a query for package net/url, which takes a semicolon for a mistake.
func signable(query string) string { return strings.ReplaceAll(query, ";", "%3B") }

// CheckQuery refuses a query whose signature would be wrong. AWS sorts names and values after they are escaped, and the
// library before. See https://github.com/aws/aws-sdk-go-v2/issues/2969.
func CheckQuery(query string) error {
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
		return strings.Compare(string(targets.Percent(nil, x)), string(targets.Percent(nil, y)))
	})
}

// Sum returns the SHA-256 of a body.
func Sum(body []byte) []byte {
	hash := sha256.Sum256(body)
	return hash[:]
}
