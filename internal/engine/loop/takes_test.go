//go:build linux

package loop

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// TestTakes: the event loop keeps what a step takes, for the later steps of the same flow, whatever the order in which
// answers come.
func TestTakes(t *testing.T) {
	const flows = 20
	url := serve(t, func(c *net.TCPConn) {
		br := bufio.NewReader(c)
		for {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			var header string
			for more := line; more != "\r\n"; {
				if more, err = br.ReadString('\n'); err != nil {
					return
				}
				if value, found := strings.CutPrefix(more, "Authorization: "); found {
					header = strings.TrimSpace(value)
				}
			}
			path := strings.Fields(line)[1]
			if user, ok := strings.CutPrefix(path, "/login/"); ok {
				body := fmt.Sprintf(`{"token": "t%s"}`, user)
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				continue
			}
			if "t"+strings.TrimPrefix(path, "/pay/") != header {
				t.Errorf("%s with token %q", path, header)
			}
			c.Write([]byte(ok))
		}
	})
	c := open(t, targets.Spec{Flows: []targets.Flow{{Name: "buy", Steps: []targets.Step{
		{Name: "login", URL: url + "login/${ordinal}", Takes: []targets.Take{{Name: "token", From: "json token"}}},
		{Name: "pay", URL: url + "pay/${ordinal}", Headers: []targets.Header{{Name: "Authorization", Value: "${token}"}}},
	}}}}, targets.Local{}, 7)
	defer c.Close()
	var sessions [flows]targets.Session
	for step := range 2 {
		ended, sent := 0, 0
		for ended < flows {
			now := c.Now()
			for sent < flows && c.Send(now, now, targets.Call{Number: uint64(sent), Step: step, Session: &sessions[sent]}) {
				sent++
			}
			err := c.Poll(now+1e9, func(r targets.Result) {
				ended++
				if r.Outcome.Class != "" || r.Call.Step != step || r.Call.Session != &sessions[r.Call.Number] {
					t.Errorf("%+v", r)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
