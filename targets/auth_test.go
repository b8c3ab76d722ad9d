package targets

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// hidden is for tests: nothing may show it.
const hidden = "hunter2"

// TestParseAuth: what can be written, and where the secret comes from.
func TestParseAuth(t *testing.T) {
	for text, want := range map[string]Auth{
		"basic:ann:" + hidden:         {Kind: AuthBasic, Basic: "ann:" + hidden},
		"basic::":                     {Kind: AuthBasic, Basic: ":"},
		"basic:@/run/a,b:c":           {Kind: AuthBasic, Secret: Secret{File: "/run/a,b:c"}},
		"basic:@env:USER_PASSWORD":    {Kind: AuthBasic, Secret: Secret{Env: "USER_PASSWORD"}},
		"bearer:@token":               {Kind: AuthBearer, Secret: Secret{File: "token"}},
		"bearer:@./env:TOKEN":         {Kind: AuthBearer, Secret: Secret{File: "./env:TOKEN"}},
		"bearer:@env:TOKEN":           {Kind: AuthBearer, Secret: Secret{Env: "TOKEN"}},
		oauth2Of("@s"):                {Kind: AuthOAuth2, TokenURL: "https://h/t", ClientID: "c", Secret: Secret{File: "s"}},
		oauth2Of("@env:S,scope=a b"):  {Kind: AuthOAuth2, TokenURL: "https://h/t", ClientID: "c", Secret: Secret{Env: "S"}, Scope: "a b"},
		oauth2Of("@s,audience=u:x=y"): {Kind: AuthOAuth2, TokenURL: "https://h/t", ClientID: "c", Secret: Secret{File: "s"}, Audience: "u:x=y"},
		oauth2Of("@s,auth_style=post"): {
			Kind: AuthOAuth2, TokenURL: "https://h/t", ClientID: "c", Secret: Secret{File: "s"}, Post: true,
		},
		sigV4Of("@s"): {Kind: AuthSigV4, Region: "r", Service: "s3", AccessKey: "ID", Secret: Secret{File: "s"}},
		sigV4Of("@env:S,session_token=@t"): {
			Kind: AuthSigV4, Region: "r", Service: "s3", AccessKey: "ID", Secret: Secret{Env: "S"}, SessionToken: Secret{File: "t"},
		},
		"sigv4:service=es,secret_key=@a/b,session_token=@env:T,access_key=@env:ID,region=us-east-1": {
			Kind: AuthSigV4, Region: "us-east-1", Service: "es", AccessKeyAt: Secret{Env: "ID"}, Secret: Secret{File: "a/b"}, SessionToken: Secret{Env: "T"},
		},
	} {
		if got, err := ParseAuth(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
		s := Spec{URL: "http://h/", Auth: text}
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if shown := s.Redacted().Auth; strings.Contains(shown, hidden) || want.Basic == "" && shown != text {
			t.Errorf("%s is shown as %s", text, shown)
		}
	}
	for text, want := range map[string]string{oauth2Of("@s"): "h:443", "oauth2:token_url=http://[::1]/,client_id=c,client_secret=@s": "[::1]:80", "bearer:@f": "", "x": ""} {
		if got := (Spec{Auth: text}).AuthHost(); got != want {
			t.Errorf("%s: host %s, want %s", text, got, want)
		}
	}
}

// oauth2Of returns a setting with this secret, and what follows it.
func oauth2Of(secret string) string {
	return "oauth2:token_url=https://h/t,client_id=c,client_secret=" + secret
}

// sigV4Of returns a setting with this secret key, and what follows it.
func sigV4Of(secret string) string {
	return "sigv4:region=r,service=s3,access_key=ID,secret_key=" + secret
}

// badAuth are settings that cannot be read, with what the error says.
func badAuth() map[string]string {
	return map[string]string{
		hidden:                                   "names no kind; write basic:USER:PASSWORD",
		"basic":                                  "names no kind",
		hidden + ":x":                            "there is no such kind",
		"Basic:ann:" + hidden:                    "there is no such kind",
		"basic:" + hidden:                        "there is no password",
		"basic:":                                 "there is no password",
		"basic:@":                                "after @ comes the path of a file",
		"basic:@-":                               "after @ comes the path of a file",
		"basic:@env:":                            "after @env: comes the name of a variable",
		"basic:@env:" + "1":                      "after @env: comes the name of a variable",
		"bearer:" + hidden:                       "give the place of the secret, not the secret itself, as in bearer:@FILE",
		"bearer:":                                "give the place of the secret",
		"bearer:@":                               "after @ comes the path of a file",
		"bearer:@env:A B":                        "after @env: comes the name of a variable",
		"bearer:@env:A=" + "x":                   "after @env: comes the name of a variable",
		"bearer:@a\nb":                           "holds a line break or a control character",
		"basic:a:" + "\x1b[31m":                  "holds a line break or a control character",
		"basic:a:" + strings.Repeat(hidden, 999): "is longer than 4096 bytes",
		"oauth2:":                                "oauth2: each setting is written name=value",
		"oauth2:" + hidden:                       "oauth2: each setting is written name=value",
		"oauth2:scope=":                          "oauth2: each setting is written name=value",
		"oauth2:token_url=https://h/t":           "oauth2: client_id is missing",
		"oauth2:client_id=c":                     "oauth2: token_url is missing",
		oauth2Of("@s") + ",":                     "oauth2: each setting is written name=value",
		oauth2Of("@s") + ",client_id=d":          "oauth2: a setting is given twice",
		oauth2Of("@s") + "," + hidden + "=x":     "oauth2: there is no such setting",
		oauth2Of("@s") + ",auth_style=jwt":       "oauth2: auth_style: write basic or post",
		oauth2Of(hidden):                         "oauth2: client_secret: give the place of the secret, not the secret itself; write @FILE",
		oauth2Of("@"):                            "oauth2: client_secret: after @ comes the path",
		"sigv4:":                                 "sigv4: each setting is written name=value",
		"sigv4:" + hidden:                        "sigv4: each setting is written name=value",
		"sigv4:service=s3":                       "sigv4: region is missing",
		"sigv4:region=r":                         "sigv4: service is missing",
		"sigv4:region=r,service=s":               "sigv4: access_key is missing",
		"sigv4:region=r,service=s,access_key=ID": "sigv4: secret_key is missing",
		sigV4Of(hidden):                          "sigv4: secret_key: give the place of the secret, not the secret itself; write @FILE or @env:NAME",
		sigV4Of("@"):                             "sigv4: secret_key: after @ comes the path",
		sigV4Of("@s") + ",session_token=" + hidden:                                  "sigv4: session_token: give the place of the secret",
		sigV4Of("@s") + ",region=r":                                                 "sigv4: a setting is given twice",
		sigV4Of("@s") + ",token=" + hidden:                                          "sigv4: there is no such setting; use region, service, access_key, secret_key, session_token",
		"sigv4:region=us east":                                                      "sigv4: region: write a name such as us-east-1",
		"sigv4:service=a/b":                                                         "sigv4: service: write a name such as s3",
		"sigv4:access_key=" + hidden + "/+":                                         "sigv4: access_key: an id has only letters, digits, dots, dashes and underscores; give the id",
		"sigv4:access_key=@env:A-B":                                                 "sigv4: access_key: after @env: comes the name of a variable",
		"oauth2:token_url=ftp://h/,client_id=c,client_secret=@s":                    "oauth2: token_url: write https://",
		"oauth2:token_url=h/token,client_id=c,client_secret=@s":                     "oauth2: token_url: write https://",
		"oauth2:token_url=https://,client_id=c,client_secret=@s":                    "oauth2: token_url: write https://",
		"oauth2:token_url=https://h:0/,client_id=c,client_secret=@s":                "oauth2: token_url: write https://",
		"oauth2:token_url=https://h/#f,client_id=c,client_secret=@s":                "oauth2: token_url: write https://",
		"oauth2:token_url=https://u:" + hidden + "@h/,client_id=c,client_secret=@s": "oauth2: token_url: leave user and password out",
	}
}

// TestBadAuth: a wrong setting is one line that says what to do, without secrets.
func TestBadAuth(t *testing.T) {
	all := badAuth()
	if len(all) < 25 {
		t.Errorf("only %d values", len(all))
	}
	for text, says := range all {
		s := Spec{URL: "http://h/", Auth: text}
		err := s.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), "auth: "+says) || strings.ContainsAny(err.Error(), "\n\x1b") || strings.Contains(err.Error(), hidden) {
			t.Errorf("%.99q: %v, want %s", text, err, says)
		}
		if shown := s.Redacted().Auth; shown != redacted {
			t.Errorf("%.99q is shown as %q", text, shown)
		}
	}
}

// TestUnusedAuth: a setting that no request uses is a mistake.
func TestUnusedAuth(t *testing.T) {
	own := []Header{{"authorization", "x"}}
	for _, c := range []struct {
		spec Spec
		used bool
	}{
		{Spec{URL: "http://h/"}, true},
		{Spec{URL: "http://h/", Headers: own}, false},
		{Spec{URL: "http://u@h/"}, false},
		{Spec{URL: "noop://"}, false},
		{Spec{Flows: []Flow{flowOf("http://h/"), {Name: "own", Steps: []Step{{Name: "own", URL: "http://h/", Headers: own}}}}}, true},
		{Spec{Flows: []Flow{flowOf("http://u:p@h/"), {Name: "own", Steps: []Step{{Name: "own", URL: "http://h/", Headers: own}}}}}, false},
	} {
		c.spec.Auth = "bearer:@f"
		err := c.spec.Validate()
		if (err == nil) != c.used || err != nil && !strings.HasPrefix(err.Error(), "auth: no request uses it") {
			t.Errorf("%+v: %v", c.spec, err)
		}
		if _, err := NewWire(c.spec, Local{}); err == nil || c.used && !strings.Contains(err.Error(), "the credential is missing") {
			t.Errorf("%+v without a credential: %v", c.spec, err)
		}
		if _, err := NewWire(c.spec, Local{Credential: new(Credential)}); err == nil || c.used && !strings.Contains(err.Error(), "the credential is missing") {
			t.Errorf("%+v with an empty credential: %v", c.spec, err)
		}
	}
}

func flowOf(url string) Flow { return Flow{Name: "a", Steps: []Step{{Name: "a", URL: url}}} }

// TestDiffAuth: specs differ by their setting, and secrets are not shown.
func TestDiffAuth(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"", "bearer:@f", "auth: none there, bearer:@f here"},
		{"bearer:@f", "bearer:@f", ""},
		{"basic:a:" + hidden, "basic:b:" + hidden, "user or password of auth differs"},
		{"basic:a:" + hidden, "bearer:@env:A", "auth: basic:[redacted] there, bearer:@env:A here"},
	} {
		if got := strings.Join((Spec{URL: "http://h/", Auth: c.a}).Diff(Spec{URL: "http://h/", Auth: c.b}), "; "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestCredentialSet: a value that would end the line of a header is refused, and the old one stays.
func TestCredentialSet(t *testing.T) {
	var c Credential
	if err := c.Set("Bearer x"); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"", "a\r\nX: " + hidden, hidden + "\n", "a\x00" + hidden, "\x7f" + hidden} {
		if err := c.Set(value); err == nil || strings.Contains(err.Error(), hidden) || *c.current() != "Bearer x" {
			t.Errorf("%q: %v, and it is %q", value, err, *c.current())
		}
	}
}

// TestCredentialAllocatesNothing: for a request that is the same but for the credential.
func TestCredentialAllocatesNothing(t *testing.T) {
	var c Credential
	if err := c.Set("Bearer x"); err != nil {
		t.Fatal(err)
	}
	spec := Spec{URL: "http://a/", Auth: "bearer:@f", Body: []byte("body")}
	wire, err := NewWire(spec, Local{Credential: &c})
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 0, 500)
	if n := testing.AllocsPerRun(100, func() { b = wire.Fill(b, Call{Number: 7}) }); n != 0 {
		t.Errorf("wire: %v allocations", n)
	}
	static, err := NewWire(Spec{URL: "http://a/", Auth: "basic:a:b"}, Local{})
	if err != nil || static.Request == nil {
		t.Errorf("a fixed password needs no filling: %v, %v", static, err)
	}
}

// TestCredentialChangesWhileItIsUsed: each message has a whole value.
func TestCredentialChangesWhileItIsUsed(t *testing.T) {
	var c Credential
	values := []string{"Bearer " + strings.Repeat("a", 50), "Bearer " + strings.Repeat("b", 20)}
	if err := c.Set(values[0]); err != nil {
		t.Fatal(err)
	}
	wire, err := NewWire(Spec{URL: "http://a/", Auth: "bearer:@f"}, Local{Credential: &c})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 2000 {
			_ = c.Set(values[i%2])
		}
	})
	for range 2 {
		all.Go(func() {
			for range 2000 {
				text := string(wire.Fill(nil, Call{}))
				if !strings.Contains(text, fmt.Sprintf("Authorization: %s\r\n", values[0])) && !strings.Contains(text, fmt.Sprintf("Authorization: %s\r\n", values[1])) {
					t.Errorf("%q", text)
					return
				}
			}
		})
	}
	all.Wait()
	last := *c.current()
	if text := string(wire.Fill(nil, Call{})); !strings.Contains(text, last) {
		t.Errorf("%q, want %s", text, last)
	}
}
