//go:build linux

package loop

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// TestCookies: the event loop sends the cookies of each flow's own answers, whatever the order in which answers come,
// on shared connections. A session that is used again has none.
func TestCookies(t *testing.T) {
	const flows = 20
	url := serve(t, func(c *net.TCPConn) {
		for br := bufio.NewReader(c); ; {
			r, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			user, set := "", ""
			if _, err := fmt.Sscanf(r.URL.Path, "/login/%s", &user); err == nil {
				set = fmt.Sprintf("Set-Cookie: sid=s%s; Path=/\r\nset-cookie: to=%s; Path=/pay/%s\r\n", user, user, user)
				if len(r.Header["Cookie"]) > 0 {
					t.Errorf("login with %q", r.Header["Cookie"])
				}
			} else if _, err := fmt.Sscanf(r.URL.Path, "/pay/%s", &user); err != nil {
				t.Errorf("%s", r.URL.Path)
			} else if got := fmt.Sprint(r.Header["Cookie"]); got != fmt.Sprintf("[to=%s; sid=s%s]", user, user) {
				t.Errorf("%s: %s", user, got)
			}
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\n%sContent-Length: 0\r\n\r\n", set)
		}
	})
	c := open(t, targets.Spec{Cookies: true, Flows: []targets.Flow{{Name: "buy", Steps: []targets.Step{
		{Name: "login", URL: url + "login/${ordinal}", Method: "POST"},
		{Name: "pay", URL: url + "pay/${ordinal}"},
	}}}}, targets.Local{}, 7)
	defer c.Close()
	var sessions [flows]targets.Session
	for range 2 {
		for step := range 2 {
			sendAll(t, c, step, sessions[:])
		}
		for i := range sessions {
			sessions[i].Reset()
		}
	}
}

// sendAll sends a step of all sessions, as many at once as there are connections.
func sendAll(t *testing.T, c *Client, step int, sessions []targets.Session) {
	t.Helper()
	for ended, sent := 0, 0; ended < len(sessions); {
		now := c.Now()
		for sent < len(sessions) && c.Send(now, now, targets.Call{Number: uint64(sent), Step: step, Session: &sessions[sent]}) {
			sent++
		}
		err := c.Poll(now+1e9, func(r targets.Result) {
			ended++
			if r.Outcome.Class != "" {
				t.Errorf("%+v", r)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
