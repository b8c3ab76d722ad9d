package auth

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/sigtest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// secret is for tests: nothing may show it.
const secret = "hunter 2/ä" // it has to be escaped in basic authorization

// logged is a log that tests read.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// file makes a file with a text, and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	replace(t, path, text)
	return path
}

// replace gives a file another content in one moment.
func replace(t *testing.T, path, text string) {
	t.Helper()
	next := path + ".new"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

// start opens a source that ends with the test.
func start(t *testing.T, setting string, o Options) (*Source, *logged) {
	t.Helper()
	var log logged
	s, err := Open(t.Context(), setting, o, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, &log
}

// sent returns the header that a request has now.
func sent(t *testing.T, s *Source) string {
	t.Helper()
	w, err := wire.New(targets.Spec{URL: "http://h/", Auth: "bearer:@f"}, targets.Local{Credential: s.Credential()})
	if err != nil {
		t.Fatal(err)
	}
	_, value, _ := strings.Cut(string(w.Fill(nil, targets.Call{})), "Authorization: ")
	value, _, _ = strings.Cut(value, "\r\n")
	return value
}

// TestOpen: where each kind gets its value.
func TestOpen(t *testing.T) {
	t.Setenv("AUTH_TEST", "a:b\n")
	for setting, want := range map[string]string{
		"bearer:@" + file(t, "abc\r\n"):      "Bearer abc",
		"bearer:@" + file(t, "1|a.b-c_~+/="): "Bearer 1|a.b-c_~+/=",
		"bearer:@env:AUTH_TEST":              "Bearer a:b",
		"basic:@env:AUTH_TEST":               targets.Basic("a:b"),
		"basic:@" + file(t, "u:p:q ä \n"):    targets.Basic("u:p:q ä "),
	} {
		if s, _ := start(t, setting, Options{}); sent(t, s) != want {
			t.Errorf("%s: %s, want %s", setting, sent(t, s), want)
		}
	}
	for _, setting := range []string{"", "basic:a:b"} {
		s, err := Open(t.Context(), setting, Options{}, slog.Default())
		if s != nil || err != nil || s.Credential() != nil {
			t.Errorf("%q: %v, %v", setting, s, err)
		}
		s.Close()
	}
}

// TestPipe: a token from a pipe is read once. A client secret is needed again.
func TestPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.WriteString(w, "abc\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	path := fmt.Sprintf("/dev/fd/%d", r.Fd())
	s, _ := start(t, "bearer:@"+path, Options{})
	if got := sent(t, s); got != "Bearer abc" || s.stop != nil {
		t.Errorf("%s, read again %v", got, s.stop != nil)
	}
	if _, err := Open(t.Context(), client2("http://127.0.0.1:1/", "@"+path), Options{}, slog.Default()); err == nil || !strings.Contains(err.Error(), "is a pipe") {
		t.Errorf("%v", err)
	}
}

// TestOpenFails: an error is one line that says what to do, without secrets.
func TestOpenFails(t *testing.T) {
	const word = "hunter2"
	t.Setenv("AUTH_TEST", "")
	for setting, says := range map[string]string{
		word:                                                   "names no kind",
		"bearer:@env:AUTH_NONE":                                "@env:AUTH_NONE: the variable is not set on this machine, or is empty; set it for each worker",
		"bearer:@env:AUTH_TEST":                                "is empty",
		"bearer:@/no/such":                                     "no such file or directory; the file must lie on each worker's machine",
		"bearer:@" + t.TempDir():                               "is a directory; the file must lie on each worker's machine",
		"bearer:@" + file(t, ""):                               "the file is empty; put the secret there",
		"bearer:@" + file(t, "\n"):                             "the file is empty",
		"bearer:@" + file(t, "Bearer "+word):                   "a token has no spaces and no control characters; give it alone, without Bearer",
		"bearer:@" + file(t, word+"\r\nX: y"):                  "holds a line break or a control character",
		"bearer:@" + file(t, word+"\x00"):                      "holds a line break or a control character",
		"bearer:@" + file(t, word+"ä"):                         "a token has no spaces",
		"bearer:@" + file(t, strings.Repeat(word, 1<<14)):      "is longer than 65536 bytes",
		"basic:@" + file(t, word):                              "there is no password; it must hold USER:PASSWORD",
		"basic:@" + file(t, "a:"+word+"\tb"):                   "holds a line break or a control character",
		"basic:@/no/such":                                      "no such file or directory",
		client2("http://127.0.0.1:1/", "@/no/such"):            "client_secret: open /no/such: no such file",
		client2("http://127.0.0.1:1/", "@"+file(t, word)):      "get a token from 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused; check token_url",
		client2("http://127.0.0.1:1/", "@env:AUTH_NONE"):       "client_secret: @env:AUTH_NONE: the variable is not set",
		client2("http://127.0.0.1:1/", "@"+file(t, "a\nb")):    "client_secret",
		signed("ID", "@env:AUTH_NONE", ""):                     "secret_key: @env:AUTH_NONE: the variable is not set on this machine, or is empty; set it for each worker",
		signed("@/no/such", "@f", ""):                          "access_key: open /no/such: no such file or directory; the file must lie on each worker's machine",
		signed("@"+file(t, word+"/+"), "@"+file(t, word), ""):  "access_key: an id has only letters, digits, dots, dashes and underscores; give the id, not the secret key",
		signed("ID", "@"+file(t, word+" x"), ""):               "secret_key: a key is visible ASCII without spaces; give it alone",
		signed("ID", "@"+file(t, word), "@"+file(t, "")):       "session_token: @",
		signed("ID", "@"+file(t, word), "@"+file(t, word+"ä")): "session_token: a token is visible ASCII",
	} {
		s, err := Open(t.Context(), setting, Options{}, slog.Default())
		if err == nil || s != nil || !strings.HasPrefix(err.Error(), "--auth: ") || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), word) {
			t.Errorf("%.99q: %v, want %s", setting, err, says)
		}
	}
}

// client2 returns a setting for OAuth2.
func client2(tokenURL, from string) string {
	return "oauth2:token_url=" + tokenURL + ",client_id=the client,client_secret=" + from
}

// TestRotation: a changed file is used. While it cannot be read, the old value stays, and the log says so once.
func TestRotation(t *testing.T) {
	path := file(t, "one")
	s, log := start(t, "bearer:@"+path, Options{})
	is := func(want string) {
		t.Helper()
		await.True(t, want, func() bool { return sent(t, s) == want })
	}
	is("Bearer one")
	replace(t, path, "two\n")
	is("Bearer two")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	await.True(t, "a line in the log", func() bool { return strings.Contains(log.String(), "no such file") })
	replace(t, path, "not a token "+secret)
	await.True(t, "another one", func() bool { return strings.Contains(log.String(), "no spaces") })
	is("Bearer two")
	replace(t, path, "three")
	is("Bearer three")
	await.True(t, "the end of the failures", func() bool { return strings.Contains(log.String(), "was renewed") })
	if text := log.String(); strings.Count(text, "\n") != 3 || strings.Contains(text, secret) {
		t.Errorf("the log says\n%s", text)
	}
	s.Close()
	replace(t, path, "four")
	if got := sent(t, s); got != "Bearer three" {
		t.Errorf("%s after the end", got)
	}
}

// tokens is a token server. It answers with token-1, token-2 and so on, unless a test sets another answer.
type tokens struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []request
	issued int
	answer func(w http.ResponseWriter) // nil = a token
	life   int                         // of tokens, seconds; 0 = it does not say
}

// request is what a token server was asked.
type request struct {
	user, password string
	basic          bool
	form           url.Values
}

func newTokens(t *testing.T, serve func(http.Handler) *httptest.Server) *tokens {
	t.Helper()
	s := new(tokens)
	s.Server = serve(http.HandlerFunc(s.token))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(s.Close)
	return s
}

func (s *tokens) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := request{}
	q.user, q.password, q.basic = r.BasicAuth()
	if err := r.ParseForm(); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	q.form = r.PostForm
	s.asked = append(s.asked, q)
	if s.answer != nil {
		s.answer(w)
		return
	}
	s.issued++
	w.Header().Set("Content-Type", "application/json")
	body := map[string]any{"access_token": fmt.Sprintf("token-%d", s.issued), "token_type": "bearer"}
	if s.life > 0 {
		body["expires_in"] = s.life
	}
	_ = json.NewEncoder(w).Encode(body)
}

// answerWith makes the server give this answer; nil = tokens.
func (s *tokens) answerWith(answer func(http.ResponseWriter)) (asked int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
	return len(s.asked)
}

// requests returns what the server was asked.
func (s *tokens) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// says returns an answer.
func says(status int, contentType, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestTokenRequest: what the token server is asked, in both styles.
func TestTokenRequest(t *testing.T) {
	server := newTokens(t, httptest.NewServer)
	path := file(t, secret+"\n")
	for _, post := range []bool{false, true} {
		setting := client2(server.URL, "@"+path)
		if post {
			setting += ",auth_style=post,scope=a b,audience=https://api/"
		}
		s, _ := start(t, setting, Options{})
		all := server.requests()
		last := all[len(all)-1]
		if got := sent(t, s); got != fmt.Sprintf("Bearer token-%d", len(all)) {
			t.Errorf("%s", got)
		}
		want := request{basic: true, user: "the+client", password: url.QueryEscape(secret), form: url.Values{"grant_type": {"client_credentials"}}}
		if post {
			want = request{form: url.Values{
				"grant_type": {"client_credentials"}, "client_id": {"the client"}, "client_secret": {secret}, "scope": {"a b"}, "audience": {"https://api/"},
			}}
		}
		if fmt.Sprintf("%+v", last) != fmt.Sprintf("%+v", want) {
			t.Errorf("asked %+v, want %+v", last, want)
		}
	}
	if n := len(server.requests()); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
}

// TestTokenServerOverTLS: the certificates of --cacert count too.
func TestTokenServerOverTLS(t *testing.T) {
	server := newTokens(t, httptest.NewTLSServer)
	setting := client2(server.URL, "@"+file(t, secret))
	if _, err := Open(t.Context(), setting, Options{}, slog.Default()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without its authority: %v", err)
	}
	ca := pemOf(server.Certificate().Raw)
	if s, _ := start(t, setting, Options{CA: ca}); sent(t, s) != "Bearer token-1" {
		t.Errorf("%s", sent(t, s))
	}
}

// TestRefusals: an answer without a token is one line without secrets.
func TestRefusals(t *testing.T) {
	const word = "hunter2"
	server := newTokens(t, httptest.NewServer)
	setting := client2(server.URL, "@"+file(t, word))
	for want, answer := range map[string]func(http.ResponseWriter){
		"status 401, invalid_client: no such client; check token_url, client_id": says(401, "application/json", `{"error":"invalid_client","error_description":"no such client"}`),
		"status 400, without a reason;":                                          says(400, "application/json", `{"error":"x","error_description":"the secret hunter2 is wrong"}`),
		"status 500, without a reason; check token_url":                          says(500, "text/html", "<h1>\n"+word+"</h1>"),
		"status 200, invalid_scope":                                              says(200, "application/json", `{"error":"invalid_scope"}`),
		"status 302, without":                                                    func(w http.ResponseWriter) { w.Header().Set("Location", "/"); w.WriteHeader(302) },
		"missing access_token":                                                   says(200, "application/json", `{}`),
		"cannot parse json":                                                      says(200, "application/json", `hunter2`),
		"the token is not of type bearer":                                        says(200, "application/json", `{"access_token":"a","token_type":"mac"}`),
		"access_token: a token has no spaces":                                    says(200, "application/json", `{"access_token":"a\r\nX: y","token_type":"bearer"}`),
		"the token is longer than 65536 bytes":                                   says(200, "application/json", `{"access_token":"`+strings.Repeat("a", 70000)+`"}`),
		"get a token from " + server.Listener.Addr().String():                    says(204, "text/plain", ""),
	} {
		before := server.answerWith(answer)
		_, err := Open(t.Context(), setting, Options{}, slog.Default())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), word) || len(err.Error()) > 500 {
			t.Errorf("%v, want %s", err, want)
		}
		if n := len(server.requests()); n != before+1 {
			t.Errorf("%s: the server got %d requests, want 1", want, n-before)
		}
	}
}

// TestRenewal: a token of 1 s is renewed before its end. While that fails, the old one stays, each kind of failure is
// logged once, and the next success ends it.
func TestRenewal(t *testing.T) {
	server := newTokens(t, httptest.NewServer)
	server.life = 1
	path := file(t, secret)
	s, log := start(t, client2(server.URL, "@"+path), Options{})
	began := time.Now()
	await.True(t, "the third token", func() bool { return sent(t, s) == "Bearer token-3" })
	if took := time.Since(began); took < 1400*time.Millisecond {
		t.Errorf("two renewals took %v, want 75 to 80 %% of 1 s for each", took)
	}
	server.answerWith(says(401, "application/json", `{"error":"invalid_client","error_description":"`+secret+`"}`))
	await.True(t, "a line in the log", func() bool { return strings.Contains(log.String(), "status 401") })
	old := sent(t, s)
	asked := server.answerWith(says(503, "text/plain", "busy"))
	await.True(t, "two more attempts", func() bool { return len(server.requests()) >= asked+2 })
	if got := sent(t, s); got != old {
		t.Errorf("%s, want the old token, %s", got, old)
	}
	server.answerWith(nil)
	await.True(t, "another token", func() bool { return sent(t, s) != old })
	await.True(t, "the end of the failures", func() bool { return strings.Contains(log.String(), "was renewed") })
	if text := log.String(); strings.Count(text, "\n") != 3 || !strings.Contains(text, "status 503") || strings.Contains(text, secret) || strings.Contains(text, "token-") {
		t.Errorf("the log says\n%s", text)
	}
}

// TestRenewAfter: at 75 to 80 % of the lifetime, and never without a pause.
func TestRenewAfter(t *testing.T) {
	for _, c := range []struct {
		lifetime  time.Duration
		chance    float64
		renewedAt time.Duration
	}{
		{time.Hour, 0, 48 * time.Minute},
		{time.Hour, 1, 45 * time.Minute},
		{time.Second, 0, 800 * time.Millisecond},
		{time.Millisecond, 0, 100 * time.Millisecond},
		{-time.Hour, 0, 100 * time.Millisecond},
	} {
		if got := renewAfter(c.lifetime, c.chance); got.Round(time.Millisecond) != c.renewedAt {
			t.Errorf("%v: %v, want %v", c.lifetime, got, c.renewedAt)
		}
	}
}

// TestOpenEnds: a token server that hangs does not hold up a signal.
func TestOpenEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := contextThatEnds(t)
	accepted := make(chan struct{})
	go func() {
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			close(accepted)
			cancel()
			<-ctx.Done()
			_, _ = io.Copy(io.Discard, c)
		}
	}()
	_, err = Open(ctx, client2("http://"+l.Addr().String(), "@"+file(t, secret)), Options{}, slog.Default())
	<-accepted
	if err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("%v", err)
	}
}

// signs returns what requests are signed with now: the id of the key, and the session token. It fails if the secret key is
// another one.
func signs(t *testing.T, s *Source, secretKey string) (id, token string) {
	t.Helper()
	w, err := wire.New(targets.Spec{URL: "http://h/", Auth: signed("ID", "@f", "@f")}, targets.Local{Credential: s.Credential()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(w.Fill(nil, targets.Call{}))))
	if err != nil {
		t.Fatal(err)
	}
	_, id, _ = strings.Cut(r.Header.Get("Authorization"), "Credential=")
	id, _, _ = strings.Cut(id, "/")
	token = r.Header.Get("X-Amz-Security-Token")
	v := sigtest.Verifier{Region: "r", Service: "es", AccessKey: id, SecretKey: secretKey, SessionToken: token}
	if err := v.Check(r); err != nil {
		return "", err.Error()
	}
	return id, token
}

// signed returns a setting for signatures; "" leaves the session token out.
func signed(id, secretKey, token string) string {
	setting := "sigv4:region=r,service=es,access_key=" + id + ",secret_key=" + secretKey
	if token != "" {
		setting += ",session_token=" + token
	}
	return setting
}

// TestKeys: where each part comes from, and which are read again.
func TestKeys(t *testing.T) {
	t.Setenv("AUTH_ID", "AKIDENV\n")
	t.Setenv("AUTH_KEY", "s3cret/+=")
	for _, c := range []struct {
		setting, id, token string
		again              bool
	}{
		{signed("AKID", "@env:AUTH_KEY", ""), "AKID", "", false},
		{signed("@env:AUTH_ID", "@env:AUTH_KEY", "@env:AUTH_ID"), "AKIDENV", "AKIDENV", false},
		{signed("@"+file(t, "AKIDFILE\r\n"), "@"+file(t, "s3cret/+=\n"), "@"+file(t, "t0ken/+=")), "AKIDFILE", "t0ken/+=", true},
		{signed("AKID", "@env:AUTH_KEY", "@"+file(t, "t0ken")), "AKID", "t0ken", true},
	} {
		s, _ := start(t, c.setting, Options{})
		if id, token := signs(t, s, "s3cret/+="); id != c.id || token != c.token || (s.stop != nil) != c.again {
			t.Errorf("%s: %s, %s, read again %v", c.setting, id, token, s.stop != nil)
		}
	}
}

// TestKeysFromAPipe: it is read once, while the other parts change.
func TestKeysFromAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.WriteString(w, "s3cret\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	path := file(t, "one")
	s, log := start(t, signed("AKID", fmt.Sprintf("@/dev/fd/%d", r.Fd()), "@"+path), Options{})
	for _, want := range []string{"one", "two"} {
		replace(t, path, want)
		await.True(t, want, func() bool { _, token := signs(t, s, "s3cret"); return token == want })
	}
	if log.String() != "" {
		t.Errorf("the log says\n%s", log)
	}
}

// TestKeyRotation: changed files are used. While one cannot be used, the old keys stay.
func TestKeyRotation(t *testing.T) {
	id, key, token := file(t, "AKID1"), file(t, "s3cret1"), file(t, "t0ken1")
	s, log := start(t, signed("@"+id, "@"+key, "@"+token), Options{})
	replace(t, token, "t0ken "+secret)
	await.True(t, "a line in the log", func() bool { return strings.Contains(log.String(), "session_token: a token is visible ASCII") })
	replace(t, id, "AKID2")
	replace(t, key, "s3cret2")
	if err := os.Remove(token); err != nil {
		t.Fatal(err)
	}
	await.True(t, "another one, after the new keys were read", func() bool { return strings.Contains(log.String(), "session_token: open "+token) })
	if got, with := signs(t, s, "s3cret1"); got != "AKID1" || with != "t0ken1" {
		t.Errorf("%s, %s: a part of the new keys is used", got, with)
	}
	replace(t, token, "t0ken2\n")
	await.True(t, "the new keys", func() bool { got, with := signs(t, s, "s3cret2"); return got == "AKID2" && with == "t0ken2" })
	if text := log.String(); strings.Contains(text, secret) || strings.Contains(text, "s3cret") {
		t.Errorf("the log says\n%s", text)
	}
}
