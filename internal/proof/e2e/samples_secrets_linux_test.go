package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/internal/proof/rpctest"
)

// planted are secrets for a test, each another word.
type planted struct{ words []string }

// word returns the next one.
func (p *planted) word() string {
	p.words = append(p.words, fmt.Sprintf("Planted%02dZq7x", len(p.words)))
	return p.words[len(p.words)-1]
}

// echo answers with all that it was sent, in several codes, and with secrets of its own.
func (p *planted) echo() http.HandlerFunc {
	cookie, header, member := p.word(), p.word(), p.word()
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		all := r.RequestURI + "\n" + string(body)
		for name, values := range r.Header {
			all += "\n" + name + ": " + strings.Join(values, ", ")
		}
		w.Header().Set("Set-Cookie", "sid="+cookie+"; Path=/")
		w.Header().Set("X-Internal", header)
		quoted, _ := json.Marshal(all)
		if strings.HasSuffix(r.URL.Path, "/login") {
			fmt.Fprintf(w, `{"seat": "row 7", "user": {"access_token": %q, "items": [{"apiKey": %q}]}}`, member, member)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"password": %q, "got": %s, "url": %q, "base64": %q}`, member, quoted, url.QueryEscape(all), base64.StdEncoding.EncodeToString([]byte(all)))
	}
}

// TestPlantedSecrets: forty secrets in all places of requests and answers are in no output, no log, and no key of Redis but
// those of what the run was asked to send.
func TestPlantedSecrets(t *testing.T) {
	besides(t)
	p := new(planted)
	server := httptest.NewServer(p.echo())
	defer server.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("users.csv", fmt.Sprintf("name,password,pin\nann,%s,%s\n", p.word(), p.word()))
	workload := write("shop.yaml", fmt.Sprintf(`base: %s
cookies: true
data:
  users: {csv: users.csv}
header: {X-Api-Key: %s, X-Customer: %s, X-Auth-Token: %s, Cookie: "theme=%s"}
flows:
  buy:
    - login:
        post: /login?token=%s&page=1
        json: {user: "${users.name}", password: "${users.password}", nested: {list: [{secret: %s}]}, note: "code ${users.pin}"}
        take: {seat: json seat, session_token: json user.access_token}
    - order:
        post: /order?api_key=%s&sig=%s&seat=${seat}
        header: {Proxy-Authorization: "Basic %s", X-Session: "${session_token}"}
        json: {clientSecret: %s, card: %s, "x": "${session_token}", again: "${users.password}"}
    - never: {get: /never}
  form:
    - form:
        post: /form
        header: {Content-Type: application/x-www-form-urlencoded}
        body: "user=ann&pwd=%s&otp=%s&card=%s"
  parts:
    - parts:
        post: /parts
        header: {Content-Type: multipart/form-data; boundary=b}
        body: "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n%s\r\n--b--\r\n"
  xml:
    - xml: {post: /xml, header: {Content-Type: text/xml}, body: "<a><password>%s</password><b token=\"%s\"/></a>"}
  text:
    - text: {post: /text, header: {Content-Type: text/plain}, body: "Authorization: Bearer %s and secret=%s, csrf-token: %s; https://bob:%s@host/?sid=%s"}
`, server.URL, p.word(), p.word(), p.word(), p.word(), p.word(), p.word(), p.word(), p.word(), base64.StdEncoding.EncodeToString([]byte("u:"+p.word())), p.word(), p.word(),
		p.word(), p.word(), p.word(), p.word(), p.word(), p.word(), p.word(), p.word(), p.word(), p.word(), p.word()))
	b := &bed{t: t, redis: redistest.Start(t), env: []string{"PLANTED=" + p.word()}}
	small := []string{"--qps", "100", "-n", "100", "--redact", "card"}
	runs := map[string][]string{
		"workload": {"--workload", workload, "--auth", "bearer:@" + write("token", p.word())},
		"basic":    {"--url", strings.Replace(server.URL, "://", "://"+p.word()+":"+p.word()+"@", 1) + "/basic?access_token=" + p.word()},
		"login":    {"--url", server.URL + "/", "--auth", "basic:" + p.word() + ":" + p.word()},
		"signed":   {"--url", server.URL + "/", "--auth", "sigv4:region=r,service=execute-api,access_key=AKID,secret_key=@" + write("key", p.word()) + ",session_token=@" + write("session", p.word())},
		"grpc": {"--url", rpctest.Start(t).URL("UnaryCall"), "-H", "x-auth: " + p.word(), "-H", "authorization: Bearer " + p.word(),
			"-d", `{"responseStatus": {"code": 5, "message": "token=` + p.word() + `"}}`},
		"environment": {"--url", server.URL + "/", "--auth", "bearer:@env:PLANTED"},
	}
	secret := p.word()
	tokens := issuer(t, secret)
	b.env = append(b.env, "PLANTED_CLIENT="+secret)
	runs["oauth"] = []string{"--url", server.URL + "/", "--auth", "oauth2:token_url=" + tokens.URL + "/token,client_id=loadtest,client_secret=@env:PLANTED_CLIENT"}
	if len(p.words) < 40 {
		t.Fatalf("%d secrets", len(p.words))
	}
	for name, args := range runs {
		w := b.worker(name, append(append(steadfast(), small...), args...)...)
		await.Closed(t, "the end of a worker", w.Exited)
		if n := len(b.samplesReport(name).Samples); n == 0 {
			t.Errorf("run %s has no samples", name)
		}
		b.hides(name, []*process{w}, append(p.words, "t0ken-")...)
		b.keyless(name, p.words)
	}
}

// keyless checks that no key of a run has one of the words, but for what the run was asked to send.
func (b *bed) keyless(name string, words []string) {
	b.t.Helper()
	keys, client := run.KeysOf(name), b.redis.Client()
	for _, key := range keys.All() {
		if key == keys.Spec || key == keys.Data {
			continue
		}
		dump, err := client.Dump(b.t.Context(), key).Result()
		if err != nil {
			continue // there is no such key
		}
		without(b.t, map[string]string{key: dump}, words...)
	}
}
