package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/sigtest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/template"
)

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
		wire, err := New(targets.Spec{URL: "http://example.amazonaws.com" + c.target, Auth: setting}, targets.Local{Credential: credential})
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

// TestCannotBeSigned: a request whose signature would be wrong is refused before it is sent, as is a missing key.
func TestCannotBeSigned(t *testing.T) {
	setting, credential, _ := sigV4(t, "s3", "")
	for want, spec := range map[string]targets.Spec{
		"header x-amz-date: is part of the signature (auth sigv4); leave it out":            {URL: "http://h/", Headers: []targets.Header{{Name: "x-amz-date", Value: "x"}}},
		"header X-Amz-Content-Sha256: is part of the signature (auth sigv4); leave it out":  {URL: "http://h/", Headers: []targets.Header{{Name: "X-Amz-Content-Sha256", Value: "x"}}},
		"header X-Amz-Security-Token: is part of the signature (auth sigv4); leave it out":  {URL: "http://h/", Headers: []targets.Header{{Name: "X-Amz-Security-Token", Value: "x"}}},
		"auth: sigv4: a % in the query begins no escape; write %25":                         {URL: "http://h/?a=5%"},
		"auth: sigv4: names or values of the query sort differently once they are escaped,": {URL: "http://h/?p[1]=a&p[10]=b"},
		"auth: sigv4: names or values of the query sort differently once they are escaped":  {URL: "http://h/?p=a/b&p=a-b"},
	} {
		spec.Auth = setting
		if err := Validate(spec); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	bearer := new(targets.Credential)
	if err := bearer.Set("Bearer x"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		auth       string
		credential *targets.Credential
	}{{setting, nil}, {setting, new(targets.Credential)}, {setting, bearer}, {"bearer:@f", credential}} {
		_, err := New(targets.Spec{URL: "http://h/", Auth: c.auth}, targets.Local{Credential: c.credential})
		if err == nil || !strings.Contains(err.Error(), "the credential is missing") {
			t.Errorf("%s with %v: %v", c.auth, c.credential, err)
		}
	}
}

// TestExampleIsNotSigned: where a request is only shown, there are no keys.
func TestExampleIsNotSigned(t *testing.T) {
	setting, _, _ := sigV4(t, "s3", "")
	all, err := Examples(targets.Spec{URL: "http://h/${ordinal}", Auth: setting, Body: []byte("${ordinal}")}, 2, nil, time.Now())
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
				wire, err := New(targets.Spec{URL: "http://127.0.0.1/items/${ordinal}?a=b", Auth: auth, Body: body}, targets.Local{Credential: credential})
				if err != nil {
					b.Fatal(err)
				}
				var text []byte
				b.ReportAllocs()
				for b.Loop() {
					text = wire.Fill(text, targets.Call{Number: 7})
				}
			})
		}
	}
}
