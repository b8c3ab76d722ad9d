package wire

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// hidden is for tests: nothing may show it.
const hidden = "hunter2"

// TestParseAuth: what can be written, and where the secret comes from.
func TestParseAuth(t *testing.T) {
	for text, want := range map[string]targets.Auth{
		"basic:ann:" + hidden:         {Kind: targets.AuthBasic, Basic: "ann:" + hidden},
		"basic::":                     {Kind: targets.AuthBasic, Basic: ":"},
		"basic:@/run/a,b:c":           {Kind: targets.AuthBasic, Secret: targets.Secret{File: "/run/a,b:c"}},
		"basic:@env:USER_PASSWORD":    {Kind: targets.AuthBasic, Secret: targets.Secret{Env: "USER_PASSWORD"}},
		"bearer:@token":               {Kind: targets.AuthBearer, Secret: targets.Secret{File: "token"}},
		"bearer:@./env:TOKEN":         {Kind: targets.AuthBearer, Secret: targets.Secret{File: "./env:TOKEN"}},
		"bearer:@env:TOKEN":           {Kind: targets.AuthBearer, Secret: targets.Secret{Env: "TOKEN"}},
		oauth2Of("@s"):                {Kind: targets.AuthOAuth2, TokenURL: "https://h/t", ClientID: "c", Secret: targets.Secret{File: "s"}},
		oauth2Of("@env:S,scope=a b"):  {Kind: targets.AuthOAuth2, TokenURL: "https://h/t", ClientID: "c", Secret: targets.Secret{Env: "S"}, Scope: "a b"},
		oauth2Of("@s,audience=u:x=y"): {Kind: targets.AuthOAuth2, TokenURL: "https://h/t", ClientID: "c", Secret: targets.Secret{File: "s"}, Audience: "u:x=y"},
		oauth2Of("@s,auth_style=post"): {
			Kind: targets.AuthOAuth2, TokenURL: "https://h/t", ClientID: "c", Secret: targets.Secret{File: "s"}, Post: true,
		},
		sigV4Of("@s"): {Kind: targets.AuthSigV4, Region: "r", Service: "s3", AccessKey: "ID", Secret: targets.Secret{File: "s"}},
		sigV4Of("@env:S,session_token=@t"): {
			Kind: targets.AuthSigV4, Region: "r", Service: "s3", AccessKey: "ID", Secret: targets.Secret{Env: "S"}, SessionToken: targets.Secret{File: "t"},
		},
		"sigv4:service=es,secret_key=@a/b,session_token=@env:T,access_key=@env:ID,region=us-east-1": {
			Kind: targets.AuthSigV4, Region: "us-east-1", Service: "es", AccessKeyAt: targets.Secret{Env: "ID"}, Secret: targets.Secret{File: "a/b"}, SessionToken: targets.Secret{Env: "T"},
		},
	} {
		if got, err := targets.ParseAuth(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
		s := targets.Spec{URL: "http://h/", Auth: text}
		if err := Validate(s); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if shown := s.Redacted().Auth; strings.Contains(shown, hidden) || want.Basic == "" && shown != text {
			t.Errorf("%s is shown as %s", text, shown)
		}
	}
	for text, want := range map[string]string{oauth2Of("@s"): "h:443", "oauth2:token_url=http://[::1]/,client_id=c,client_secret=@s": "[::1]:80", "bearer:@f": "", "x": ""} {
		if got := (targets.Spec{Auth: text}).AuthHost(); got != want {
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
		s := targets.Spec{URL: "http://h/", Auth: text}
		err := Validate(s)
		if err == nil || !strings.HasPrefix(err.Error(), "auth: "+says) || strings.ContainsAny(err.Error(), "\n\x1b") || strings.Contains(err.Error(), hidden) {
			t.Errorf("%.99q: %v, want %s", text, err, says)
		}
		if shown := s.Redacted().Auth; shown != targets.Redacted {
			t.Errorf("%.99q is shown as %q", text, shown)
		}
	}
}

// TestUnusedAuth: a setting that no request uses is a mistake.
func TestUnusedAuth(t *testing.T) {
	own := []targets.Header{{Name: "authorization", Value: "x"}}
	for _, c := range []struct {
		spec targets.Spec
		used bool
	}{
		{targets.Spec{URL: "http://h/"}, true},
		{targets.Spec{URL: "http://h/", Headers: own}, false},
		{targets.Spec{URL: "http://u@h/"}, false},
		{targets.Spec{URL: "noop://"}, false},
		{targets.Spec{Flows: []targets.Flow{flowOf("http://h/"), {Name: "own", Steps: []targets.Step{{Name: "own", URL: "http://h/", Headers: own}}}}}, true},
		{targets.Spec{Flows: []targets.Flow{flowOf("http://u:p@h/"), {Name: "own", Steps: []targets.Step{{Name: "own", URL: "http://h/", Headers: own}}}}}, false},
	} {
		c.spec.Auth = "bearer:@f"
		err := Validate(c.spec)
		if (err == nil) != c.used || err != nil && !strings.HasPrefix(err.Error(), "auth: no request uses it") {
			t.Errorf("%+v: %v", c.spec, err)
		}
		if _, err := New(c.spec, targets.Local{}); err == nil || c.used && !strings.Contains(err.Error(), "the credential is missing") {
			t.Errorf("%+v without a credential: %v", c.spec, err)
		}
		if _, err := New(c.spec, targets.Local{Credential: new(targets.Credential)}); err == nil || c.used && !strings.Contains(err.Error(), "the credential is missing") {
			t.Errorf("%+v with an empty credential: %v", c.spec, err)
		}
	}
}

func flowOf(url string) targets.Flow {
	return targets.Flow{Name: "a", Steps: []targets.Step{{Name: "a", URL: url}}}
}

// TestCredentialAllocatesNothing: for a request that is the same but for the credential.
func TestCredentialAllocatesNothing(t *testing.T) {
	var c targets.Credential
	if err := c.Set("Bearer x"); err != nil {
		t.Fatal(err)
	}
	spec := targets.Spec{URL: "http://a/", Auth: "bearer:@f", Body: []byte("body")}
	wire, err := New(spec, targets.Local{Credential: &c})
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 0, 500)
	if n := testing.AllocsPerRun(100, func() { b = wire.Fill(b, targets.Call{Number: 7}) }); n != 0 {
		t.Errorf("wire: %v allocations", n)
	}
	static, err := New(targets.Spec{URL: "http://a/", Auth: "basic:a:b"}, targets.Local{})
	if err != nil || static.Request == nil {
		t.Errorf("a fixed password needs no filling: %v, %v", static, err)
	}
}

// TestCredentialChangesWhileItIsUsed: each message has a whole value.
func TestCredentialChangesWhileItIsUsed(t *testing.T) {
	var c targets.Credential
	values := []string{"Bearer " + strings.Repeat("a", 50), "Bearer " + strings.Repeat("b", 20)}
	if err := c.Set(values[0]); err != nil {
		t.Fatal(err)
	}
	wire, err := New(targets.Spec{URL: "http://a/", Auth: "bearer:@f"}, targets.Local{Credential: &c})
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
				text := string(wire.Fill(nil, targets.Call{}))
				if !strings.Contains(text, fmt.Sprintf("Authorization: %s\r\n", values[0])) && !strings.Contains(text, fmt.Sprintf("Authorization: %s\r\n", values[1])) {
					t.Errorf("%q", text)
					return
				}
			}
		})
	}
	all.Wait()
	last := *c.Current()
	if text := string(wire.Fill(nil, targets.Call{})); !strings.Contains(text, last) {
		t.Errorf("%q, want %s", text, last)
	}
}
