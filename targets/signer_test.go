package targets

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/sigtest"
	"github.com/loadctl/loadctl/targets/rows"
	"github.com/loadctl/loadctl/targets/template"
)

// The keys of the examples of AWS.
const (
	exampleID     = "AKIDEXAMPLE"
	exampleSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// sigV4 returns a setting, a credential with the keys of the examples, and what verifies.
func sigV4(t testing.TB, service, token string) (setting string, c *Credential, v sigtest.Verifier) {
	t.Helper()
	c = new(Credential)
	if err := c.SetKeys(Keys{exampleID, exampleSecret, token}); err != nil {
		t.Fatal(err)
	}
	v = sigtest.Verifier{Region: "us-east-1", Service: service, AccessKey: exampleID, SecretKey: exampleSecret, SessionToken: token}
	return "sigv4:region=us-east-1,service=" + service + ",access_key=" + exampleID + ",secret_key=@f,session_token=@g", c, v
}

// TestSignature: requests of the test suite that AWS has published.
func TestSignature(t *testing.T) {
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC).UnixNano()
	for _, c := range []struct{ target, token, want string }{
		{"/", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"/?Param2=value2&Param1=value1", "", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"//example//", "", "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"},
		{"/", "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267", "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"},
	} {
		setting, credential, _ := sigV4(t, "service", c.token)
		wire, err := NewWire(Spec{URL: "http://example.amazonaws.com" + c.target, Auth: setting}, Local{Credential: credential})
		if err != nil {
			t.Fatal(err)
		}
		names, token := "host;x-amz-date", ""
		if c.token != "" {
			names, token = names+";x-amz-security-token", "X-Amz-Security-Token: "+c.token+"\r\n"
		}
		want := "GET " + c.target + " HTTP/1.1\r\nHost: example.amazonaws.com\r\nUser-Agent: loadctl\r\nX-Amz-Date: 20150830T123600Z\r\n" + token +
			"Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" + names + ", Signature=" + c.want + "\r\n\r\n"
		if got := string(wire.message.fill(nil, template.Request{Time: at}, nil)); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.target, got, want)
		}
	}
}

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
func hard() map[string]Spec {
	return map[string]Spec{
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
		"/items/${ordinal}?at=${now}&id=${uuid}&w=${worker}&n=${random 1 9}": {Headers: []Header{{"X-Amz-Meta-N", "${ordinal}"}}, Body: []byte(`{"n": ${ordinal}}`)},
		"/${odd.cell}/x?y=${odd.cell}&z=${odd.cell}":                         {Body: []byte("${odd.cell}"), Headers: []Header{{"X-Amz-Odd", "${odd.cell}"}}},
		"/body":    {Body: []byte("static")},
		"/binary":  {Method: "PUT", Body: []byte("\xff\x00\r\n${x}")},
		"/empty":   {Method: "POST"},
		"/delete":  {Method: "DELETE"},
		"/headers": {Headers: []Header{{"Host", "Other.Example:443"}, {"content-type", "text/plain;  charset=utf-8"}, {"x-amz-target", " A  b\tc "}, {"X-AMZ-Target", "d"}, {"X-Other", "e"}, {"Connection", "close"}}},
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
			local := Local{Credential: credential, Worker: "w1", Tables: tables}
			target := open(t, spec, local)
			wire, err := NewWire(spec, local)
			if err != nil || wire.Request != nil {
				t.Fatal(err)
			}
			for n := range uint64(odd.Rows) {
				if out := target.Do(t.Context(), Call{Number: n}); out.Status != 200 {
					t.Errorf("%s of %s: %+v", path, service, out)
				}
				text := wire.Fill(bytes.Repeat([]byte("x"), 3), Call{Number: n})
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
	spec := Spec{Auth: setting, Flows: []Flow{{Name: "f", Steps: []Step{
		{Name: "a", URL: server.URL + "/a?${ordinal}", Takes: []Take{{Name: "next", From: "header X-Next"}}},
		{Name: "b", URL: server.URL + "/b/${next}", Body: []byte("${next}")},
		{Name: "c", URL: server.URL + "/own", Headers: []Header{{"authorization", "own"}, {"X-Amz-Date", "own"}}},
		{Name: "d", URL: "http://u:p@" + host + "/own"},
	}}}}
	target := open(t, spec, Local{Credential: credential})
	for n := range uint64(3) {
		session := new(Session)
		for step := range 4 {
			if out := target.Do(t.Context(), Call{Number: n, Step: step, Session: session}); out.Class != "" {
				t.Errorf("step %d: %+v", step, out)
			}
		}
		if lines := strings.Join(got.take(), "; "); lines != "/own own; /own "+Basic("u:p") {
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
		spec := Spec{URL: server.URL + "/to?to=" + url.QueryEscape(to), Auth: setting, Redirects: 1, Body: []byte("${uuid}"), ConnectTo: []string{"localhost::127.0.0.1:"}}
		do(t, open(t, spec, Local{Credential: credential, AllowHost: func(string) bool { return true }}), 200, "")
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
	target := open(t, Spec{URL: server.URL, Auth: setting}, Local{Credential: credential})
	do(t, target, 200, "")
	check.v.AccessKey, check.v.SecretKey, check.v.SessionToken = "other", "0ther", ""
	do(t, target, 403, ClassStatus)
	if err := credential.SetKeys(Keys{"other", "0ther", ""}); err != nil {
		t.Fatal(err)
	}
	do(t, target, 200, "")
	for want, bad := range map[string]Keys{
		"access_key: an id has only letters":                {"", "x", ""},
		"access_key: an id has only letters, digits":        {hidden + "/", "x", ""},
		"secret_key: a key is visible ASCII without spaces": {"x", hidden + " ", ""},
		"secret_key: a key is visible":                      {"x", "", ""},
		"session_token: a token is visible ASCII":           {"x", "x", hidden + "\r\n"},
	} {
		if err := credential.SetKeys(bad); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), hidden) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	do(t, target, 200, "")
}

// TestCannotBeSigned: a request whose signature would be wrong is refused before it is sent, as is a missing key.
func TestCannotBeSigned(t *testing.T) {
	setting, credential, _ := sigV4(t, "s3", "")
	for want, spec := range map[string]Spec{
		"header x-amz-date: is part of the signature (auth sigv4); leave it out":            {URL: "http://h/", Headers: []Header{{"x-amz-date", "x"}}},
		"header X-Amz-Content-Sha256: is part of the signature (auth sigv4); leave it out":  {URL: "http://h/", Headers: []Header{{"X-Amz-Content-Sha256", "x"}}},
		"header X-Amz-Security-Token: is part of the signature (auth sigv4); leave it out":  {URL: "http://h/", Headers: []Header{{"X-Amz-Security-Token", "x"}}},
		"auth: sigv4: a % in the query begins no escape; write %25":                         {URL: "http://h/?a=5%"},
		"auth: sigv4: names or values of the query sort differently once they are escaped,": {URL: "http://h/?p[1]=a&p[10]=b"},
		"auth: sigv4: names or values of the query sort differently once they are escaped":  {URL: "http://h/?p=a/b&p=a-b"},
	} {
		spec.Auth = setting
		if err := spec.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	bearer := new(Credential)
	if err := bearer.Set("Bearer x"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		auth       string
		credential *Credential
	}{{setting, nil}, {setting, new(Credential)}, {setting, bearer}, {"bearer:@f", credential}} {
		_, err := New(Spec{URL: "http://h/", Auth: c.auth}, Local{Credential: c.credential})
		if err == nil || !strings.Contains(err.Error(), "the credential is missing") {
			t.Errorf("%s with %v: %v", c.auth, c.credential, err)
		}
	}
}

// TestExampleIsNotSigned: where a request is only shown, there are no keys.
func TestExampleIsNotSigned(t *testing.T) {
	setting, _, _ := sigV4(t, "s3", "")
	all, err := Spec{URL: "http://h/${ordinal}", Auth: setting, Body: []byte("${ordinal}")}.Examples(2, nil, time.Now())
	if err != nil || len(all) != 2 || all[1].URL != "http://h/1" || string(all[1].Body) != "1" || len(all[1].Headers) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// BenchmarkSigned fills a request that is signed, and the same one without a signature.
func BenchmarkSigned(b *testing.B) {
	setting, credential, _ := sigV4(b, "execute-api", "")
	for name, auth := range map[string]string{"unsigned": "", "signed": setting} {
		for _, size := range []int{0, 1 << 10, 64 << 10} {
			body := []byte(strings.Repeat("x", max(0, size-20)) + "${ordinal}")
			if size == 0 {
				body = nil
			}
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				wire, err := NewWire(Spec{URL: "http://127.0.0.1/items/${ordinal}?a=b", Auth: auth, Body: body}, Local{Credential: credential})
				if err != nil {
					b.Fatal(err)
				}
				var text []byte
				b.ReportAllocs()
				for b.Loop() {
					text = wire.Fill(text, Call{Number: 7})
				}
			})
		}
	}
}
