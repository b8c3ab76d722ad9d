package client_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/sigtest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
	"github.com/loadctl/loadctl/targets/wire"
)

// verified is a server that keeps what came with a valid signature, and answers 403 to all else.
type verified struct {
	v    sigtest.Verifier
	mu   sync.Mutex
	seen map[string]int
	errs []error
}

func (s *verified) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := s.v.Check(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s %s: %w", r.Method, r.RequestURI, err))
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.seen[r.RequestURI]++
}

// hard are requests whose signature is easily wrong: what follows the host, and the rest.
func hard() map[string]targets.Spec {
	return map[string]targets.Spec{
		"":             {},
		"/plain":       {Method: "HEAD"},
		"/a b/c;d!e/ä": {},
		"/a%20b/c%2Fd/e%2ff/g+h/(i)'j'/k=l&m@n:o,p;q!r$s*/~t_u-v.w/%C3%A4/%7e": {},
		"/a/./b/../c//d/":              {},
		"/..":                          {},
		"/?":                           {},
		"/?x":                          {},
		"/?tag=b&tag=a&tag=&tag=B&tag": {},
		"/?a=b c&d=e+f&g=h%2Bi&j=k%2fl&m=n%20o&p=%C3%A4&q=ä&r=/:@?!'()*,$": {},
		"/?a=b=c&;=d&=e&&f":              {},
		"/?list-type=2&prefix=a/b&A=%26": {},
		"/items/${ordinal}?at=${now}&id=${uuid}&w=${worker}&n=${random 1 9}": {Headers: []targets.Header{{Name: "X-Amz-Meta-N", Value: "${ordinal}"}}, Body: []byte(`{"n": ${ordinal}}`)},
		"/${odd.cell}/x?y=${odd.cell}&z=${odd.cell}":                         {Body: []byte("${odd.cell}"), Headers: []targets.Header{{Name: "X-Amz-Odd", Value: "${odd.cell}"}}},
		"/body":    {Body: []byte("static")},
		"/binary":  {Method: "PUT", Body: []byte("\xff\x00\r\n${x}")},
		"/empty":   {Method: "POST"},
		"/delete":  {Method: "DELETE"},
		"/headers": {Headers: []targets.Header{{Name: "Host", Value: "Other.Example:443"}, {Name: "content-type", Value: "text/plain;  charset=utf-8"}, {Name: "x-amz-target", Value: " A  b\tc "}, {Name: "X-AMZ-Target", Value: "d"}, {Name: "X-Other", Value: "e"}, {Name: "Connection", Value: "close"}}},
	}
}

// TestSignedRequests: a server that computes each signature itself accepts what the Target sends, and what the Wire does.
func TestSignedRequests(t *testing.T) {
	odd, tables := given(t, "odd", "cell\na/b c+d&e=f%g?h#i;j\nä€\n\"\"\n..\n~-_.\na  b\n", rows.Cycle)
	for _, service := range []string{"execute-api", "s3"} {
		setting, credential, v := sigV4(t, service, "t0ken+/=")
		check := &verified{v: v}
		server := serve(t, check.ServeHTTP)
		for path, spec := range hard() {
			spec.URL, spec.Auth = server.URL+path, setting
			if strings.Contains(path, "odd") {
				spec.Data = []rows.Source{odd}
			}
			local := targets.Local{Credential: credential, Worker: "w1", Tables: tables}
			target := open(t, spec, local)
			wire, err := wire.New(spec, local)
			if err != nil || wire.Request != nil {
				t.Fatal(err)
			}
			for n := range uint64(odd.Rows) {
				if out := target.Do(t.Context(), targets.Call{Number: n}); out.Status != 200 {
					t.Errorf("%s of %s: %+v", path, service, out)
				}
				text := wire.Fill(bytes.Repeat([]byte("x"), 3), targets.Call{Number: n})
				r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
				if err == nil {
					err = v.Check(r)
				}
				if err != nil {
					t.Errorf("%s of %s: %v of\n%s", path, service, err, text)
				}
			}
		}
		for _, err := range check.errs {
			t.Error(service, err)
		}
	}
}

// TestSignedSteps: what a step says of itself wins, and steps are signed with what earlier ones took.
func TestSignedSteps(t *testing.T) {
	setting, credential, v := sigV4(t, "execute-api", "")
	check := &verified{v: v}
	var got headers
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/own") {
			got.ServeHTTP(w, r)
			return
		}
		w.Header().Set("X-Next", "a b/"+r.URL.RawQuery)
		check.ServeHTTP(w, r)
	})
	host := strings.TrimPrefix(server.URL, "http://")
	spec := targets.Spec{Auth: setting, Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{
		{Name: "a", URL: server.URL + "/a?${ordinal}", Takes: []targets.Take{{Name: "next", From: "header X-Next"}}},
		{Name: "b", URL: server.URL + "/b/${next}", Body: []byte("${next}")},
		{Name: "c", URL: server.URL + "/own", Headers: []targets.Header{{Name: "authorization", Value: "own"}, {Name: "X-Amz-Date", Value: "own"}}},
		{Name: "d", URL: "http://u:p@" + host + "/own"},
	}}}}
	target := open(t, spec, targets.Local{Credential: credential})
	for n := range uint64(3) {
		session := new(targets.Session)
		for step := range 4 {
			if out := target.Do(t.Context(), targets.Call{Number: n, Step: step, Session: session}); out.Class != "" {
				t.Errorf("step %d: %+v", step, out)
			}
		}
		if lines := strings.Join(got.take(), "; "); lines != "/own own; /own "+targets.Basic("u:p") {
			t.Errorf("%s", lines)
		}
	}
	if n := check.seen["/b/a%20b%2F2"]; n != 1 || len(check.seen) != 6 || len(check.errs) > 0 {
		t.Errorf("%v, %v", check.seen, check.errs)
	}
}

// TestSignatureAfterARedirect: the same host gets a signature of the new request, another one gets nothing.
func TestSignatureAfterARedirect(t *testing.T) {
	setting, credential, v := sigV4(t, "s3", "t0ken")
	var elsewhere http.Header
	check := &verified{v: v}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Host, "localhost") {
			elsewhere = r.Header
			return
		}
		if check.ServeHTTP(w, r); r.URL.Path == "/to" {
			w.Header().Set("Location", r.URL.Query().Get("to"))
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	})
	away := strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/away"
	for _, to := range []string{"/here?a=b c", away} {
		spec := targets.Spec{URL: server.URL + "/to?to=" + url.QueryEscape(to), Auth: setting, Redirects: 1, Body: []byte("${uuid}"), ConnectTo: []string{"localhost::127.0.0.1:"}}
		do(t, open(t, spec, targets.Local{Credential: credential, AllowHost: func(string) bool { return true }}), 200, "")
	}
	if check.seen["/here?a=b%20c"] != 1 || len(check.errs) > 0 {
		t.Errorf("%v, %v", check.seen, check.errs)
	}
	if elsewhere == nil {
		t.Fatal("the other host got nothing")
	}
	for name := range elsewhere {
		if strings.HasPrefix(name, "X-Amz") || name == "Authorization" {
			t.Errorf("the other host got %s", name)
		}
	}
}

// TestKeysChange: the next request is signed with other keys.
func TestKeysChange(t *testing.T) {
	setting, credential, v := sigV4(t, "execute-api", "one")
	check := &verified{v: v}
	server := serve(t, check.ServeHTTP)
	target := open(t, targets.Spec{URL: server.URL, Auth: setting}, targets.Local{Credential: credential})
	do(t, target, 200, "")
	check.v.AccessKey, check.v.SecretKey, check.v.SessionToken = "other", "0ther", ""
	do(t, target, 403, targets.ClassStatus)
	if err := credential.SetKeys(targets.Keys{AccessKey: "other", SecretKey: "0ther"}); err != nil {
		t.Fatal(err)
	}
	do(t, target, 200, "")
	for want, bad := range map[string]targets.Keys{
		"access_key: an id has only letters":                {AccessKey: "", SecretKey: "x", SessionToken: ""},
		"access_key: an id has only letters, digits":        {AccessKey: secret + "/", SecretKey: "x", SessionToken: ""},
		"secret_key: a key is visible ASCII without spaces": {AccessKey: "x", SecretKey: secret + " ", SessionToken: ""},
		"secret_key: a key is visible":                      {AccessKey: "x", SecretKey: "", SessionToken: ""},
		"session_token: a token is visible ASCII":           {AccessKey: "x", SecretKey: "x", SessionToken: secret + "\r\n"},
	} {
		if err := credential.SetKeys(bad); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	do(t, target, 200, "")
}

// The keys of the examples of AWS.
const (
	exampleID     = "AKIDEXAMPLE"
	exampleSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// sigV4 returns a setting, a credential with the keys of the examples, and what verifies.
func sigV4(t testing.TB, service, token string) (setting string, c *targets.Credential, v sigtest.Verifier) {
	t.Helper()
	c = new(targets.Credential)
	if err := c.SetKeys(targets.Keys{AccessKey: exampleID, SecretKey: exampleSecret, SessionToken: token}); err != nil {
		t.Fatal(err)
	}
	v = sigtest.Verifier{Region: "us-east-1", Service: service, AccessKey: exampleID, SecretKey: exampleSecret, SessionToken: token}
	return "sigv4:region=us-east-1,service=" + service + ",access_key=" + exampleID + ",secret_key=@f,session_token=@g", c, v
}
