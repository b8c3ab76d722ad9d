// Package sigtest checks AWS Signature Version 4 of requests as they arrive. It is for tests: it computes all itself, from
// what the server got and the published algorithm, and shares no code with what signs.
//
//	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
//		if err := verifier.Check(r); err != nil { … }
//	}))
//
// See https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
package sigtest

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A Verifier knows who may send what.
type Verifier struct {
	Region, Service      string // paths of service s3 are keys of objects
	AccessKey, SecretKey string
	SessionToken         string           // "" = there must be none
	Now                  func() time.Time // nil = time.Now
}

// skew is how much clocks may differ.
const skew = 5 * time.Minute

// Check returns nil if the request has a valid signature. It reads the body.
func (v Verifier) Check(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	date := r.Header.Get("X-Amz-Date")
	at, err := time.Parse("20060102T150405Z", date)
	if err != nil {
		return err
	}
	now := time.Now()
	if v.Now != nil {
		now = v.Now()
	}
	if d := now.Sub(at); d < -skew || d > skew {
		return fmt.Errorf("it is of %s", date)
	}
	if got := r.Header.Values("X-Amz-Security-Token"); strings.Join(got, ",") != v.SessionToken {
		return fmt.Errorf("the session token is %q", got)
	}
	hash := hex.EncodeToString(digest(string(body)))
	if got := r.Header.Get("X-Amz-Content-Sha256"); got != hash && (got != "" || v.Service == "s3") {
		return fmt.Errorf("the header X-Amz-Content-Sha256 is %q, and the body has %s", got, hash)
	}
	scope := strings.Join([]string{date[:8], v.Region, v.Service, "aws4_request"}, "/")
	rest, ok := strings.CutPrefix(strings.Join(r.Header["Authorization"], "+"), "AWS4-HMAC-SHA256 Credential="+v.AccessKey+"/"+scope+", SignedHeaders=")
	signed, signature, ok2 := strings.Cut(rest, ", Signature=")
	if !ok || !ok2 {
		return fmt.Errorf("the header Authorization is %q", r.Header["Authorization"])
	}
	headers, err := canonicalHeaders(r, strings.Split(signed, ";"))
	if err != nil {
		return err
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	if query, err = canonicalQuery(query); err != nil {
		return err
	}
	if path, err = v.canonicalPath(path); err != nil {
		return err
	}
	canonical := strings.Join([]string{r.Method, path, query, headers, signed, hash}, "\n")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", date, scope, hex.EncodeToString(digest(canonical))}, "\n")
	key := []byte("AWS4" + v.SecretKey)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	if want := hex.EncodeToString(mac(key, text)); signature != want {
		return fmt.Errorf("the signature is %s, want %s of\n%s", signature, want, canonical)
	}
	return nil
}

// canonicalHeaders returns the headers that were signed, if those are all that must be.
func canonicalHeaders(r *http.Request, names []string) (string, error) {
	if !slices.IsSorted(names) || !slices.Contains(names, "host") || !slices.Contains(names, "x-amz-date") {
		return "", fmt.Errorf("signed headers: %q", names)
	}
	for name := range r.Header {
		lower := strings.ToLower(name)
		if (lower == "content-type" || strings.HasPrefix(lower, "x-amz-")) && !slices.Contains(names, lower) {
			return "", fmt.Errorf("%s is not signed", lower)
		}
	}
	var b strings.Builder
	for _, name := range names {
		values := slices.Clone(r.Header.Values(name))
		if name == "host" {
			values = []string{r.Host}
		}
		if len(values) == 0 {
			return "", fmt.Errorf("%s is signed, and was not sent", name)
		}
		for i, value := range values {
			values[i] = strings.Join(strings.Fields(value), " ")
		}
		b.WriteString(name + ":" + strings.Join(values, ",") + "\n")
	}
	return b.String(), nil
}

// canonicalQuery sorts a query once it is escaped.
func canonicalQuery(query string) (string, error) {
	type pair struct{ name, value string }
	var pairs []pair
	for one := range strings.SplitSeq(query, "&") {
		if one == "" {
			continue
		}
		name, value, _ := strings.Cut(strings.ReplaceAll(one, "+", " "), "=")
		plainName, err1 := unescape(name)
		plainValue, err2 := unescape(value)
		if err := cmp.Or(err1, err2); err != nil {
			return "", err
		}
		pairs = append(pairs, pair{escape(plainName, ""), escape(plainValue, "")})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.value, b.value)) })
	var all []string
	for _, p := range pairs {
		all = append(all, p.name+"="+p.value)
	}
	return strings.Join(all, "&"), nil
}

// canonicalPath returns the path as it is signed: of objects escaped once, else normalized and escaped again.
func (v Verifier) canonicalPath(path string) (string, error) {
	if v.Service == "s3" {
		plain, err := unescape(path)
		return escape(plain, "/"), err
	}
	var segments []string
	for segment := range strings.SplitSeq(path, "/") {
		switch {
		case segment == "" || segment == ".":
		case segment == ".." && len(segments) > 0:
			segments = segments[:len(segments)-1]
		case segment != "..":
			segments = append(segments, segment)
		}
	}
	normal := "/" + strings.Join(segments, "/")
	if strings.HasSuffix(path, "/") && normal != "/" {
		normal += "/"
	}
	return escape(normal, "/"), nil
}

// escape escapes all but unreserved characters and those in keep.
func escape(s, keep string) string {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(unreserved+keep, s[i]) >= 0 {
			b.WriteByte(s[i])
			continue
		}
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

// unescape replaces %XX.
func unescape(s string) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "%")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if len(after) < 2 {
			return "", errors.New("a % begins no escape")
		}
		c, err := hex.DecodeString(after[:2])
		if err != nil {
			return "", err
		}
		b.Write(c)
		s = after[2:]
	}
}

func digest(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:]
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
