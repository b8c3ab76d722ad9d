//go:build linux

package loop

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
)

// TestChecks: the event loop checks answers as the Target does, also those that come in many pieces.
func TestChecks(t *testing.T) {
	body := strings.Repeat("x", 200_000) + "the end"
	answer := "HTTP/1.1 100 Continue\r\nX-Answer: 1\r\n\r\nHTTP/1.1 200 OK\r\nX-Answer: 42\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"30d40\r\n" + body[:200_000] + "\r\n7\r\nthe end\r\n0\r\n\r\n"
	url := serve(t, func(c *net.TCPConn) {
		br := bufio.NewReader(c)
		for request(br) {
			c.Write([]byte(answer))
		}
	})
	for checks, class := range map[string]string{
		"status 200|body has the end|header X-Answer = 42|size > 200kB|time < 1m": "",
		"header X-Answer = 1": "check header X-Answer = 1",
		"body matches /^x*$/": "check body matches /^x*$/",
		"json a = 1":          "check json a = 1",
		"status 201":          "check status 201",
	} {
		r := newRig(t, targets.Spec{URL: url, Checks: strings.Split(checks, "|")}, targets.Local{}, 1)
		for range 2 { // over the same connection
			expect(t, r.do(), 200, class)
		}
		r.close()
	}
}
