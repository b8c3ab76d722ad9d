package doctest

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/loadctl/loadctl/internal/proof/certtest"
	"github.com/loadctl/loadctl/internal/server/arrivals"
)

// tried is the output of try: of all protocols with something of their own, and of what fails.
func tried(o *outputs) {
	dir := o.t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/bytes":
			_, _ = w.Write([]byte{0, 255})
		case "/chat":
			_, _ = fmt.Fprint(w, strings.Repeat("data: {\"choices\": [{\"delta\": {\"content\": \"a\"}}]}\n\n", 3), "data: [DONE]\n\n")
		case "/usage":
			_, _ = fmt.Fprint(w, "data: {\"choices\": [{\"text\": \"a\"}], \"usage\": {\"prompt_tokens\": 5, \"completion_tokens\": 1}}\n\ndata: [DONE]\n\n")
		case "/close":
			w.Header().Set("Connection", "close")
		default:
			_, _ = fmt.Fprint(w, `{"token": "abcdefgh", "empty": ""}`)
		}
	}))
	defer server.Close()
	for name, content := range map[string]string{
		"users.csv": "name\nAnn\n",
		"flow.yaml": "base: " + server.URL + "\ndata: {users: {csv: users.csv}}\nflows:\n  f:\n" +
			"  - a: {post: \"/${users.name}\", json: {password: x}, check: [status 200, body has token], take: {token: json token, empty: json empty}}\n" +
			"  - b: {get: /close, check: 'json token = 1'}\n  - c: {get: /}\n",
		"turn.yaml": "base: " + server.URL + "\nflows:\n  f:\n  - a: {get: /}\n  - if: ${status} == 500\n    steps: [b: {get: /}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			o.t.Fatal(err)
		}
	}
	o.result(o.begin(99, "loadctl try --workload "+filepath.Join(dir, "flow.yaml")))
	o.print("loadctl try --workload " + filepath.Join(dir, "turn.yaml"))
	o.print("loadctl try " + server.URL + "/away --redirects 1")
	o.print("loadctl try " + server.URL + "/bytes")
	o.print("loadctl try " + server.URL + "/ --body-bytes 5")
	o.print("loadctl try " + server.URL + `/chat --preset openai -d '{"stream":true}' --goal 'ttft<1m'`)
	o.print("loadctl try " + server.URL + `/usage --preset openai -d '{"stream":true}'`)
	o.print("loadctl try " + server.URL + "/ --stream lines")
	o.print("loadctl try noop:")
	o.result(o.begin(99, "loadctl try http://127.0.0.1:1/"))
	o.result(o.begin(99, "loadctl try http://name.invalid/"))
	messages, err := arrivals.Start(arrivals.Options{Echo: arrivals.Messages})
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = messages.Close() }()
	o.print("loadctl try " + messages.URL() + " -d hello --reply any")
	o.triedSecurely(dir)
}

// triedSecurely is tried with TLS: with a trusted certificate, and with one that is refused.
func (o *outputs) triedSecurely(dir string) {
	authority := certtest.New(o.t)
	pair, err := tls.LoadX509KeyPair(authority.Issue("shop.test"))
	if err != nil {
		o.t.Fatal(err)
	}
	server, err := arrivals.Start(arrivals.Options{TLS: &tls.Config{Certificates: []tls.Certificate{pair}}})
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	trusted := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(trusted, []byte(authority.PEM), 0o600); err != nil {
		o.t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(server.Addr())
	o.print("loadctl try https://shop.test:" + port + "/ --connect-to shop.test:" + port + ":" + server.Addr() + " --cacert " + trusted)
	o.result(o.begin(99, "loadctl try https://"+server.Addr()+"/"))
}
