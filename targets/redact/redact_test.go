package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/redact"
)

// secret is the value that is planted; it has all that needs escapes somewhere.
const secret = `s3cr/t+"Wa\lue&7=ü`

// A plant is an exchange with the secret in one place.
type plant struct {
	name  string
	spec  targets.Spec
	names []string
	e     targets.Exchange
	known redact.Known
	keeps string // what must still be readable
}

// sent returns an exchange with a body and headers; came one with an answer.
func sent(start, body string, headers ...targets.Header) targets.Exchange {
	return targets.Exchange{Sent: targets.Message{Start: start, Headers: headers, Body: []byte(body), Length: int64(len(body))}}
}

func came(body string, headers ...targets.Header) targets.Exchange {
	return targets.Exchange{Came: targets.Message{Start: "HTTP/1.1 200 OK", Headers: headers, Body: []byte(body), Length: int64(len(body))}}
}

func header(name, value string) targets.Header { return targets.Header{Name: name, Value: value} }

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// plants are all exchanges with a secret.
func plants() []plant { return slices.Concat(named(), valued()) }

// echo returns an exchange whose answer repeats something.
func echo(e targets.Exchange, body string) targets.Exchange {
	e.Came = targets.Message{Start: "HTTP/1.1 400 Bad Request", Body: []byte(body)}
	return e
}

// bearing is an exchange with the secret in a header.
func bearing() targets.Exchange {
	return sent("GET / HTTP/1.1", "", header("Authorization", "Bearer "+secret))
}

// named are those in which a name or a form gives the secret away.
func named() []plant {
	escaped, bearer := url.QueryEscape(secret), bearing()
	return []plant{
		{name: "a header with the name of a secret", e: sent("GET / HTTP/1.1", "", header("X-Api-Key", secret), header("Accept", "text/html")), keeps: "text/html"},
		{name: "a header that nobody knows", e: sent("GET / HTTP/1.1", "", header("X-Tenant", secret))},
		{name: "a harmless header that was given", names: []string{"user-AGENT"}, e: sent("", "", header("User-Agent", secret))},
		{name: "a header of the answer", e: came("ok", header("X-Upstream", secret), header("Content-Type", "text/plain")), keeps: "text/plain"},
		{name: "a cookie that is sent", e: sent("", "", header("Cookie", "a=1; sid="+escaped))},
		{name: "a cookie that is set", e: came("ok", header("Set-Cookie", "sid="+escaped+"; Path=/"))},
		{name: "a query", e: sent("GET /a/b?page=2&token="+escaped+"&x=yes HTTP/1.1", ""), keeps: "GET /a/b?page=2&token=redacted&x=yes HTTP/1.1"},
		{name: "a query with a name that was given", names: []string{"Who"}, e: sent("GET /?who="+escaped+" HTTP/1.1", "")},
		{name: "a query in a query", e: sent("GET /?next="+url.QueryEscape("/cb?session="+escaped)+" HTTP/1.1", "")},
		{name: "a redirect", e: came("", header("Location", "https://shop.test/cb?code=1&access_token="+escaped)), keeps: "https://shop.test/cb?code=1&access_token=redacted"},
		{name: "a fragment of a redirect", e: came("", header("Location", "/cb#id_token="+escaped))},
		{name: "user and password of a URL", e: sent("GET http://ann:"+escaped+"@shop.test/x HTTP/1.1", ""), keeps: "@shop.test/x"},
		{name: "a member", e: came(`{"user":"ann","password": ` + quoted(secret) + `, "ok":true}`), keeps: `{"user":"ann","password": "[redacted]", "ok":true}`},
		{name: "a member in depth", e: came(`{"a":[{"b":{"clientSecret":` + quoted(secret) + `}}]}`)},
		{name: "all members of an object", e: came(`{"credentials":{"a":[1,` + quoted(secret) + `],"b":7},"c":1}`), keeps: `{"credentials":{"a":["[redacted]","[redacted]"],"b":"[redacted]"},"c":1}`},
		{name: "a number", e: came(`{"pin":83921,"n":1}` + secretless), keeps: `"pin":"[redacted]","n":1`},
		{name: "a member whose name has escapes", e: came(`{"pass\u0077ord":` + quoted(secret) + `}`)},
		{name: "JSON in JSON", e: came(`{"body":` + quoted(`{"password":`+quoted(secret)+`}`) + `,"n":1}`), keeps: `,"n":1}`},
		{name: "a member with a name that was given", names: []string{"ssn"}, e: came(`{"SSN":` + quoted(secret) + `}`)},
		{name: "an argument of GraphQL", e: sent("POST / HTTP/1.1", `{"query":`+quoted(`{login(password:`+quoted(secret)+`){id}}`)+`}`)},
		{name: "a form", e: sent("", "user=ann&password="+escaped, header("Content-Type", "application/x-www-form-urlencoded")), keeps: "user=ann&password=[redacted]"},
		{name: "a form in parts", e: sent("", "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n"+secret+"\r\n--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nshown\r\n--b--\r\n",
			header("Content-Type", "multipart/form-data; boundary=b")), keeps: "shown"},
		{name: "an element", e: came("<a><ns:Password t='1'>" + xmlEscape(secret) + "</ns:Password><b>shown</b></a>"), keeps: "<b>shown</b>"},
		{name: "an attribute", e: came(`<a password="` + xmlEscape(secret) + `" b="shown"/>`), keeps: `b="shown"`},
		{name: "a pair of name and value", e: came(`[{"name":"user","value":"ann"},{"name":"password","in":"form","value":` + quoted(secret) + `},{"name":"x","value":"shown"}]`), keeps: `{"name":"x","value":"shown"}]`},
		{name: "a password in prose", e: came("login failed (user: ann, password: abcDEF0123456789, and Authorization: Bearer eyJzdWIiOiI0MiJ9)"), keeps: "user: ann, "},
		{name: "a password of letters in prose", e: came("user: ann, password: abcDEFABCDEF."), keeps: "password: [redacted]"},
		{name: "an echo in base64 in JSON of PHP", e: echo(bearer, `{"a":"`+strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(secret+secret)), "/", `\/`)+`"}`)},
		{name: "a variable of a program", e: came(`<script>let a = 1; var csrfToken = '` + "abcDEF0123456789" + `'; go()</script>`), keeps: "'; go()</script>"},
		{name: "a hidden field of a page", e: came(`<input name="csrf_token" value="` + xmlEscape(secret) + `">`)},
		{name: "a hidden field of a page, the value first", e: came(`<input value="` + xmlEscape(secret) + `" type="hidden" name="csrf_token"><b>shown</b>`), keeps: "<b>shown</b>"},
		{name: "a field for a password", e: came(`<input type="password" value="` + xmlEscape(secret) + `"><b>shown</b>`), keeps: "<b>shown</b>"},
		{name: "a meta element, the content first", e: came(`<meta content="` + xmlEscape(secret) + `" name="csrf-token">`)},
		{name: "a field of XML", e: came(`<doc><field name="password">` + xmlEscape(secret) + `</field><field name="a">shown</field></doc>`), keeps: ">shown<"},
		{name: "a hash of Ruby", e: came(`params: {"user"=>"ann", "password"=>` + quoted(secret) + `, :token=>"abcDEF0123456789", "n"=>1}`), keeps: `"n"=>1}`},
		{name: "an array of PHP", e: came("array(2) { [\"password\"]=>\n  string(20) " + quoted(secret) + "\n  [\"n\"]=>\n  int(1) }\nArray ( [token] => abcDEF0123456789 )"), keeps: "int(1)"},
		{name: "a template of a program", e: came("const c = {a: `1`, apiKey: `abcDEF0123456789`, b: `shown`}"), keeps: "b: `shown`"},
		{name: "a private key", e: came("log\n-----BEGIN RSA PRIVATE KEY-----\nMIIabc\nabcDEF0123456789\n-----END RSA PRIVATE KEY-----\nshown"), keeps: "-----END RSA PRIVATE KEY-----\nshown"},
		{name: "a private key in JSON", e: came(`{"pem":"-----BEGIN PRIVATE KEY-----\nabcDEF0123456789\n","n":1}`)},
		{name: "a code of OAuth", e: came("", header("Location", "https://shop.test/cb?state=shown&code=abcDEF0123456789")), keeps: "?state=shown&code=redacted"},
		{name: "a code of OAuth in a form", e: sent("", "grant_type=authorization_code&code=abcDEF0123456789&client_id=shown", header("Content-Type", "application/x-www-form-urlencoded")), keeps: "&client_id=shown"},
		{name: "the signature of a URL", e: sent("GET /blob?sv=2024&sig="+escaped+"&se=shown HTTP/1.1", ""), keeps: "&se=shown"},
	}
}

// valued are those in which the secret is known from elsewhere: a credential, a take, a cell, or another place of the exchange.
func valued() []plant {
	token, login, bearer := "abcDEF0123456789", "ann@test:"+secret, bearing()
	escaped, basic := url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(login))
	return []plant{
		{name: "Bearer in a body", e: came("got Authorization of Bearer " + token + " from you"), keeps: " from you"},
		{name: "a JSON Web Token", e: came("see eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.abcDEF0123456789-_x here"), keeps: " here"},
		{name: "--auth basic", spec: targets.Spec{URL: "http://a.test/", Auth: "basic:" + login}, e: came("hello ann@test, " + secret)},
		{name: "--auth basic in the answer", spec: targets.Spec{URL: "http://a.test/", Auth: "basic:" + login}, e: came("you sent " + basic)},
		{name: "--auth basic, read back", e: echo(sent("", "", header("Authorization", "Basic "+basic)), "the password "+secret+" is wrong")},
		{name: "--auth bearer", e: echo(bearer, "bad token: '"+secret+"'")},
		{name: "--auth bearer, as a Credential", known: redact.Known{Secrets: []string{"Bearer " + secret}}, e: came("bad token: '" + secret + "'")},
		{name: "--auth sigv4", e: echo(sent("", "", header("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/eu/s3/aws4_request, SignedHeaders=host, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7")), "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7 "+"is wrong")},
		{name: "--auth oauth2", e: echo(sent("", "", header("Authorization", "Bearer "+token)), `{"access":"`+token+`"}`)},
		{name: "metadata of gRPC", e: targets.Exchange{Sent: targets.Message{Start: "POST /a.B/C HTTP/2", Headers: []targets.Header{header("x-session-bin", secret)}, Body: []byte(`{"name":"` + "x" + `"}`)}}, keeps: `{"name":"x"}`},
		{name: "grpc-message", e: echo2(bearer, header("grpc-message", url.PathEscape("no "+secret+" here")))},
		{name: "a take", known: redact.Known{Taken: []string{"7", secret}, Names: []string{"id", "token"}}, e: came("next " + secret)},
		{name: "a take from a secret", spec: targets.Spec{Flows: []targets.Flow{{Steps: []targets.Step{{URL: "http://a.test", Takes: []targets.Take{{Name: "t", From: "cookie sid"}}}}}}},
			known: redact.Known{Taken: []string{secret}, Names: []string{"t"}}, e: came("next " + secret)},
		{name: "what a take found", e: targets.Exchange{Checks: []targets.Verdict{{Check: "json access_token", Passed: true, Got: secret}}}},
		{name: "a cell", known: redact.Known{Cells: []redact.Cell{{Name: "users.password", Value: secret}, {Name: "users.name", Value: "shown"}}}, e: sent("", secret+" shown"), keeps: " shown"},
		{name: "an echo in a query", e: echo(bearer, "/?q="+escaped)},
		{name: "an echo in JSON", e: echo(bearer, `{"q":`+quoted(secret)+`}`)},
		{name: "an echo in other escapes of JSON", e: echo(bearer, `{"q":"`+unicodeEscape(secret)+`"}`)},
		{name: "an echo in HTML", e: echo(bearer, "<p>"+xmlEscape(secret)+"</p>")},
		{name: "an echo in a URL in JSON", e: echo(bearer, `{"u":"\/?a=`+escaped+`"}`)},
		{name: "an echo in base64", e: echo(bearer, "a "+base64.StdEncoding.EncodeToString([]byte(secret)))},
		{name: "an echo within base64", e: echo(bearer, base64.URLEncoding.EncodeToString([]byte("xy"+secret+"z"))+" shown"), keeps: " shown"},
		{name: "an echo in hexadecimal", e: echo(bearer, hex.EncodeToString([]byte(secret)))},
		{name: "an echo in an error", e: targets.Exchange{Sent: bearer.Sent, Error: "read: " + secret}},
		{name: "an echo in a check", e: targets.Exchange{Sent: bearer.Sent, Checks: []targets.Verdict{{Check: `body has "ok"`, Got: "it is " + secret}}}},
		{name: "an echo in a binary body", e: targets.Exchange{Sent: bearer.Sent, Came: targets.Message{Body: []byte("\x00\xff" + secret + "\x01"), Binary: true}}, keeps: "\x00\xff[redacted]\x01"},
		{name: "a compressed body", e: targets.Exchange{Came: targets.Message{Headers: []targets.Header{header("Content-Encoding", "br")}, Body: []byte("\x01\x02" + secret), Binary: true}}},
		{name: "AUTH of Redis", spec: targets.Spec{URL: "redis://a.test"}, e: sent("", "AUTH ann "+hex.EncodeToString([]byte(secret)))},
		{name: "HELLO of Redis", spec: targets.Spec{URL: "redis://a.test"}, e: sent("", "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$20\r\n"+secret+"\r\n"), keeps: "HELLO"},
		{name: "SET of Redis", spec: targets.Spec{URL: "redis://a.test"}, e: sent("", "SET session:7 '"+strings.ReplaceAll(secret, `\`, `\\`)+"' EX 10"), keeps: "SET session:[redacted]"},
		{name: "GET of Redis", spec: targets.Spec{URL: "redis://a.test"}, e: targets.Exchange{Sent: targets.Message{Body: []byte("GET session:7")}, Came: targets.Message{Body: []byte(secret)}}},
		{name: "a member that is cut off", e: cut(came(`{"a":1,"token":` + quoted(secret)[:20])), keeps: `{"a":1,"token":"[redacted]`},
		{name: "an echo that is cut off", e: cut(echo(bearer, "it is "+secret[:9])), keeps: "it is [redacted]"},
		{name: "an echo of what is cut off", e: echo(cut2(sent("", "password="+token[:8])), "it is "+token+" there"), keeps: "it is [redacted] there"},
	}
}

const secretless = " \n"

func echo2(e targets.Exchange, h targets.Header) targets.Exchange {
	e.Came = targets.Message{Headers: []targets.Header{h}}
	return e
}

func cut(e targets.Exchange) targets.Exchange {
	e.Came.Length = int64(len(e.Came.Body)) + 100
	return e
}

func cut2(e targets.Exchange) targets.Exchange {
	e.Sent.Length = int64(len(e.Sent.Body)) + 100
	return e
}

func xmlEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", "+", "&#43;", "'", "&#x27;").Replace(s)
}

// unicodeEscape escapes each character.
func unicodeEscape(s string) string {
	var b strings.Builder
	for _, c := range s {
		b.WriteString(`\u00` + hex.EncodeToString([]byte{byte(c)}))
	}
	return b.String()
}

// texts returns all that is shown of an exchange.
func texts(e *targets.Exchange) string {
	all := []string{e.Error, e.Remote}
	for _, m := range []targets.Message{e.Sent, e.Came} {
		all = append(all, m.Start, string(m.Body))
		for _, h := range m.Headers {
			all = append(all, h.Name+": "+h.Value)
		}
	}
	for _, c := range e.Checks {
		all = append(all, c.Check, c.Got)
	}
	return strings.Join(all, "\n")
}

// leaks are pieces of what was planted; none may be shown.
func leaks() []string {
	whole := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(quoted(secret), `"`), xmlEscape(secret), unicodeEscape(secret),
		hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)),
		"abcDEF0123456789", "eyJzdWIiOiI0MiJ9", "5d672d79c15b13162d9279b0855cfba6", "83921", "YW5uQHRlc3Q6",
	}
	var pieces []string
	for _, s := range whole {
		for i := 0; i+6 <= len(s); i += 3 {
			pieces = append(pieces, s[i:i+6])
		}
		if len(s) < 6 {
			pieces = append(pieces, s)
		}
	}
	return slices.DeleteFunc(pieces, func(s string) bool { return s == `\u0073` })
}

// TestExchange plants secrets in all places, and finds no six bytes of them in what is shown.
func TestExchange(t *testing.T) {
	for _, p := range plants() {
		t.Run(p.name, func(t *testing.T) {
			before := p.e
			before.Sent.Headers, before.Came.Headers = slices.Clone(p.e.Sent.Headers), slices.Clone(p.e.Came.Headers)
			sentBody, cameBody := string(p.e.Sent.Body), string(p.e.Came.Body)
			was := p.e
			inSent, inCame := redact.New(p.spec, p.names).Exchange(&p.e, p.known)
			shown := texts(&p.e)
			for _, leak := range leaks() {
				if strings.Contains(shown, leak) {
					t.Fatalf("%q leaks in\n%s", leak, shown)
				}
			}
			if !strings.Contains(shown, p.keeps) {
				t.Errorf("%q is missing in\n%s", p.keeps, shown)
			}
			if !inSent && !inCame {
				t.Error("it says that nothing was redacted")
			}
			if string(was.Sent.Body) != sentBody || string(was.Came.Body) != cameBody ||
				!slices.Equal(was.Sent.Headers, before.Sent.Headers) || !slices.Equal(was.Came.Headers, before.Came.Headers) {
				t.Error("slices of the caller were written to")
			}
		})
	}
}

// TestSettings asserts that values of secret settings of a program's own scheme are taken out of what it says, and others stay.
func TestSettings(t *testing.T) {
	e := targets.Exchange{Error: "broker refuses hunter-two-two of ann-the-user"}
	e.Came.Body = []byte("hunter-two-two")
	redact.New(targets.Spec{Settings: map[string]string{"password": "hunter-two-two", "user": "ann-the-user"}}, nil).Exchange(&e, redact.Known{})
	if shown := texts(&e); strings.Contains(shown, "hunter") || !strings.Contains(shown, "ann-the-user") {
		t.Error(shown)
	}
}

// TestWhere asserts that Exchange says on which side a secret was.
func TestWhere(t *testing.T) {
	r := redact.New(targets.Spec{}, nil)
	for _, c := range []struct {
		e          targets.Exchange
		sent, came bool
	}{
		{sent("GET / HTTP/1.1", "hello", header("Accept", "*/*")), false, false},
		{sent("GET /?token=abcdef HTTP/1.1", "hello"), true, false},
		{came(`{"token":"abcdef"}`), false, true},
	} {
		if s, k := r.Exchange(&c.e, redact.Known{}); s != c.sent || k != c.came {
			t.Errorf("got %v and %v, want %v and %v:\n%s", s, k, c.sent, c.came, texts(&c.e))
		}
	}
}

// TestEchoOfAQuery: encoders such as that of Go write & as \u0026. It ends a value there too, so the rest of a query stays.
func TestEchoOfAQuery(t *testing.T) {
	e := sent("GET /?token=abcDEF0123456789&page=2 HTTP/1.1", "")
	e.Came = targets.Message{Body: []byte(`{"url":"/?token=abcDEF0123456789\u0026page=2"}`)}
	redact.New(targets.Spec{}, nil).Exchange(&e, redact.Known{})
	if e.Sent.Start != "GET /?token=redacted&page=2 HTTP/1.1" || string(e.Came.Body) != `{"url":"/?token=[redacted]\u0026page=2"}` {
		t.Errorf("%s\n%s", e.Sent.Start, e.Came.Body)
	}
}

// TestReadable asserts that texts without secrets stay as they are.
func TestReadable(t *testing.T) {
	r := redact.New(targets.Spec{URL: "http://shop.test/"}, nil)
	for _, text := range []string{
		`{"author":"Ann Example","authors":["B","C"]}`,
		`{"idempotency-key":"0d5fbc92-7d0e","idempotencyKey":"7"}`,
		`{"monkey":"see","keyboard":"qwerty","turkey":1}`,
		`{"usage":{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46}}`,
		`{"max_tokens": 1024, "tokens": 7}`,
		`{"token_type":"Bearer","expires_in":3600}`,
		`{"token":"","password":null,"session":false}`,
		`{"sessionTimeout":30,"session_count":1200,"cookie_max_age":86400}`,
		`{"a":[1,2.5,-3e10,true,null,"x"],"b":{}}`,
		`/order?code=SUMMER26&errorcode=abcDEF0123456789a&country code=abcDEF0123456789a`,
		"-----BEGIN CERTIFICATE-----\nMIIabc\n-----END CERTIFICATE-----",
		`<input type="text" value="a"><input name="token" value=""><label name="password">Password</label> a => b`,
		`{"pinned":true,"spinner":"on","opinion":"good"}`,
		`{"error":"invalid_request","error_description":"the basic plan has no bearer access"}`,
		`{"url":"http://shop.test:8080/a?page=2&sort=asc"}`,
		`{"percent":"100%","plus":"a+b","path":"C:\\new\\text"}`,
		`{"unterminated":"tex`,
		`<order id="7"><author>Ann</author><total>12.50</total></order>`,
		`<html><body class="main">It's 5 o'clock &amp; all is well</body></html>`,
		`<input name="quantity" value="7"><a href="/next?page=2">next</a>`,
		"page=2&sort=asc&author=ann&quantity=7",
		"--b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nHello\r\n--b--\r\n",
		"Basic authentication is required",
		"the bearer of this card",
		"the token is missing",
		"error: token: expired",
		"read tcp 10.0.0.1:8080->10.0.0.2:443: i/o timeout",
		"dial tcp: lookup shop.test: no such host",
		"http://shop.test/a/b?page=2#top",
		"https://shop.test:8443",
		"mail ann@example.test about order 1234",
		"GET user:42",
		"+OK",
		"\x00\x01\x02\xff binary \xfe",
		"",
		"time=2026-01-01T00:00:00Z level=info msg=\"request done\" status=200",
		"2 + 2 = 4; x == y; a := b",
	} {
		e := targets.Exchange{Sent: targets.Message{Start: "GET /a?page=2 HTTP/1.1", Body: []byte(text)}, Came: targets.Message{Start: "HTTP/1.1 200 OK", Body: []byte(text)}}
		s, c := r.Exchange(&e, redact.Known{})
		if string(e.Came.Body) != text || string(e.Sent.Body) != text || s || c {
			t.Errorf("%q became %q", text, e.Came.Body)
		}
		if got := r.Text(text); got != text {
			t.Errorf("as an error: %q became %q", text, got)
		}
	}
}

// TestHeadersThatStay asserts which headers of an answer are shown.
func TestHeadersThatStay(t *testing.T) {
	headers := []targets.Header{
		header("content-type", "application/json"), header("Content-Length", "12"), header("Date", "Sun, 29 Nov 2026 17:00:00 GMT"), header("Server", "nginx"),
		header("Retry-After", "3"), header("Cache-Control", "no-store"), header("Age", "7"), header("ETag", `"33a64df5"`), header("Vary", "Authorization, Cookie"),
		header("Allow", "GET"), header("Location", "/login?next=%2Fcart"), header("X-RateLimit-Remaining", "0"), header("RateLimit", "limit=10"),
		header("X-Request-Id", "7f3c"), header("grpc-status", "5"), header("grpc-message", "no%20such user"),
	}
	e := came("ok", headers...)
	redact.New(targets.Spec{}, nil).Exchange(&e, redact.Known{})
	if !slices.Equal(e.Came.Headers, headers) {
		t.Errorf("got %v", e.Came.Headers)
	}
}

// TestURL and Text show what is left.
func TestURL(t *testing.T) {
	r := redact.New(targets.Spec{URL: "http://ann:hunter2222@a.test", Headers: []targets.Header{header("X-Key", "k3y-of-mine")}}, []string{"who"})
	for _, c := range [][2]string{
		{"http://u:p@shop.test/a?b=1", "http://redacted@shop.test/a?b=1"},
		{"http://shop.test/a?token=abc&b=1&WHO=me", "http://shop.test/a?token=redacted&b=1&WHO=redacted"},
		{"http://shop.test/k3y-of-mine/x", "http://shop.test/redacted/x"},
		{"mailto:ann", "[redacted]"},
	} {
		if got := r.URL(c[0]); got != c[1] {
			t.Errorf("URL(%q) = %q, want %q", c[0], got, c[1])
		}
	}
	if got, want := r.Text("read http://x:y1@b.test: hunter2222 refused"), "read http://[redacted]@b.test: [redacted] refused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
