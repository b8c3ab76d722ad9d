package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/child"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
)

// A nodeProcess is a server of a library for Node. It prints its port, and a line for each line that it reads.
type nodeProcess struct {
	*child.Process
	ask   io.Writer
	lines int
}

// startNode installs packages of npm, and starts a script that uses them.
func startNode(t *testing.T, script string, packages ...string) *nodeProcess {
	t.Helper()
	dir := t.TempDir()
	install := exec.CommandContext(t.Context(), "npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts"}, packages...)...)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(dir, "server.js")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	node := exec.Command("node", file)
	ask, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := child.Start(node, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return &nodeProcess{Process: p, ask: ask}
}

// line returns the next line.
func (s *nodeProcess) line(t *testing.T) (line string) {
	t.Helper()
	await.True(t, "a line of the server", func() bool {
		all := strings.SplitAfter(s.Stdout.String(), "\n")
		line = all[s.lines]
		return strings.HasSuffix(line, "\n")
	})
	s.lines++
	return strings.TrimSpace(line)
}

// messagesOfNode is a server of WebSocket that would compress, and answers by path. When all connections have ended it says
// what has come: messages, pongs and the codes of closing frames.
const messagesOfNode = `
const { WebSocketServer } = require("ws");
let seen = { messages: 0, pongs: 0, wrong: [], codes: {} };
const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: true }, () => console.log(server.address().port));
server.on("connection", (socket, request) => {
  if (socket.extensions) seen.wrong.push("extension " + socket.extensions);
  socket.on("pong", () => seen.pongs++);
  socket.on("error", (error) => seen.wrong.push(String(error)));
  socket.on("close", (code) => { seen.codes[code] = (seen.codes[code] || 0) + 1; });
  socket.on("message", (data, binary) => {
    seen.messages++;
    switch (request.url) {
    case "/fragments": // with pings between them, and characters cut
      const size = Math.ceil(data.length / 7);
      for (let i = 0; i < 7; i++) {
        socket.send(data.subarray(i * size, (i + 1) * size), { binary, fin: i == 6 });
        socket.ping("between");
      }
      return;
    case "/pushes":
      for (let i = 0; i < 3; i++) socket.send("push " + i);
      socket.send(data, { binary });
      return;
    case "/close":
      return socket.close(4001, "enough");
    case "/cut":
      return socket.terminate();
    }
    socket.send(data, { binary });
  });
});
const report = () => {
  if (server.clients.size > 0) return setTimeout(report, 5);
  console.log(JSON.stringify(seen));
  seen = { messages: 0, pongs: 0, wrong: [], codes: {} };
};
process.stdin.on("data", report);
`

// TestNodeWebSocket: messages to a server of another library, each once, whatever the server does with its frames.
func TestNodeWebSocket(t *testing.T) {
	nightly(t)
	besides(t)
	s := startNode(t, messagesOfNode, "ws@8")
	url := "ws://127.0.0.1:" + s.line(t)
	long := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(long, []byte(strings.Repeat("€uro ", 200_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, redis: redistest.Start(t)}
	for _, c := range []struct {
		path  string
		n     int64
		args  []string
		class string
		pongs bool
		code  string // of most closing frames
	}{
		{"/echo", 500, []string{"-d", "€ ${ordinal}", "--reply", "any", "--check", "body has €"}, "", false, "1000"},
		{"/echo", 300, []string{"--body-hex", "00 ff fe 80", "--reply", "any", "--check", "size < 5B"}, "", false, "1000"},
		{"/echo", 30, []string{"-d", "@" + long, "--reply", "any", "--check", "size > 1399kB"}, "", false, "1000"},
		{"/fragments", 300, []string{"-d", "€€€€ ${ordinal} €€€€", "--reply", "any", "--check", "body matches /^€€€€ \\d+ €€€€$/"}, "", true, "1000"},
		{"/fragments", 20, []string{"-d", "@" + long, "--reply", "any", "--check", "size > 1399kB"}, "", true, "1000"},
		{"/pushes", 300, []string{"-d", "id=${ordinal}", "--reply", "matches /^id=/", "--check", "body has id="}, "", false, ""},
		{"/close", 50, []string{"-d", "x", "--reply", "any"}, "closed 4xxx", false, "4001"},
		{"/cut", 50, []string{"-d", "x", "--reply", "any"}, "eof", false, "1006"},
	} {
		name := fmt.Sprint(strings.Trim(c.path, "/"), c.n)
		b.worker(name, append(append(steadfast(), "--url", url+c.path, "--qps", "500", "-n", fmt.Sprint(c.n)), c.args...)...).wait(map[bool]int{true: 1}[c.class != ""])
		r := b.audited(name)
		if r.Audit.Sent != c.n || c.class == "" && (len(r.Errors) > 0 || r.Audit.Completed != c.n) || c.class != "" && r.Errors[c.class] != c.n {
			t.Errorf("%s: %+v, %v", name, r.Audit, r.Errors)
		}
		if _, err := fmt.Fprintln(s.ask); err != nil {
			t.Fatal(err)
		}
		var seen struct {
			Messages, Pongs int64
			Wrong           []string
			Codes           map[string]int64
		}
		if err := json.Unmarshal([]byte(s.line(t)), &seen); err != nil {
			t.Fatal(err)
		}
		if seen.Messages != c.n || len(seen.Wrong) > 0 || c.pongs && seen.Pongs < c.n {
			t.Errorf("%s: %+v", name, seen)
		}
		for code := range seen.Codes {
			// The worker looks at the server with a connection of its own, and closes it.
			if c.code != "" && code != c.code && code != "1000" || c.class != "" && seen.Codes[c.code] != c.n {
				t.Errorf("%s: %v", name, seen.Codes)
			}
		}
	}
}
