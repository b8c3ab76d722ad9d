package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/probe"
	"github.com/loadctl/loadctl/targets/wire"
)

// TestRedisLogin: the login of the URL is used, never shown, and a wrong one fails each request. Each database is
// another place.
func TestRedisLogin(t *testing.T) {
	server := redistest.Start(t)
	server.SetUser(t, "ann", "on", ">"+secret, "~*", "+@all")
	url := "redis://ann:" + secret + "@" + server.Addr()
	do(t, open(t, targets.Spec{URL: url + "/3", Body: []byte("SET k v")}, targets.Local{}), 0, "")
	if n := server.Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys in database 0", n)
	}
	do(t, open(t, targets.Spec{URL: url + "/3", Body: []byte("GET k"), Checks: []string{"body has v"}}, targets.Local{}), 0, "")
	server.SetUser(t, "bob", "on", ">a\r\n*b", "~*", "+@all") // it looks like the beginning of a command
	do(t, open(t, targets.Spec{URL: "redis://bob:a%0D%0A*b@" + server.Addr() + "/3", Body: []byte("GET k"), Checks: []string{"body has v"}, Timeout: 30 * time.Second}, targets.Local{}), 0, "")
	do(t, open(t, targets.Spec{URL: strings.Replace(url, secret, "wrong", 1), Body: []byte("PING")}, targets.Local{}), 0, "reply WRONGPASS")
	do(t, open(t, targets.Spec{URL: url + "/99", Body: []byte("PING")}, targets.Local{}), 0, "reply ERR")
	s := targets.Spec{URL: url + "/3", Body: []byte("SET k " + secret)}
	shown, err := json.Marshal(s.Redacted())
	method, request := s.Request()
	examples, err2 := wire.Examples(s, 1, nil, time.Now())
	text := fmt.Sprint(string(shown), method, request, s.Diff(targets.Spec{URL: "redis://ann:x@h", Body: []byte("GET k")}), examples[0].URL)
	if err != nil || err2 != nil || strings.Contains(text, secret) || strings.Contains(text, "ann") || method != "" {
		t.Errorf("%s: %v, %v", text, err, err2)
	}
	refused := targets.Spec{URL: strings.Replace(url, secret, secret+"x", 1), Body: []byte("PING")}
	if err := probe.Reach(t.Context(), refused, targets.Local{}); err == nil || strings.Contains(err.Error(), secret) {
		t.Error(err)
	}
}

// TestRedisIsExact: many at once send each command once, over no more connections than allowed, also if the server
// closes idle ones.
func TestRedisIsExact(t *testing.T) {
	server := redistest.Start(t)
	target := open(t, targets.Spec{URL: server.URL(), Body: []byte("INCR n")}, targets.Local{MaxConnections: 4})
	const callers, each = 16, 200
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := range each {
				if i == each/2 {
					server.Client().ClientKillByFilter(context.Background(), "TYPE", "normal", "SKIPME", "yes", "MAXAGE", "1000000")
				}
				do(t, target, 0, "")
			}
		})
	}
	all.Wait()
	if n := server.Client().Get(t.Context(), "n").Val(); n != fmt.Sprint(callers*each) {
		t.Errorf("%s commands arrived, want %d", n, callers*each)
	}
}
