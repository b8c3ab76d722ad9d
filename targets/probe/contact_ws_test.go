package probe

import (
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/ws/wstest"
)

// TestWSReach: a worker learns at the start that the handshake is refused. No message is sent.
func TestWSReach(t *testing.T) {
	for handshake, want := range map[string]string{"": "", "HTTP/1.1 404 Not Found\r\n\r\n": "the server answers 404 Not Found", "nothing\r\n": "not of HTTP/1"} {
		server := wstest.Start(t, wstest.Case{Handshake: handshake}, nil)
		err := Reach(t.Context(), targets.Spec{URL: server.URL, Body: []byte("hello"), Reply: "any"}, targets.Local{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || server.Messages.Load() != 0 {
			t.Errorf("%q: %v", handshake, err)
		}
		once := targets.Spec{URL: server.URL, Body: []byte("hello"), Reply: "any"}
		once.NoKeepAlive = true
		if err := Reach(t.Context(), once, targets.Local{}); err != nil {
			t.Errorf("%q: %v", handshake, err)
		}
	}
}
