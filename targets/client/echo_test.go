package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// echoMessages is a server of another implementation, that answers each message with the same message, or does what wrap
// does.
func echoMessages(tb testing.TB, wrap func(*websocket.Conn, *http.Request)) string {
	tb.Helper()
	server := httptest.NewServer(echoHandler(wrap))
	tb.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

// echoSecure is echoMessages with TLS.
func echoSecure(tb testing.TB, wrap func(*websocket.Conn, *http.Request)) string {
	tb.Helper()
	server := httptest.NewTLSServer(echoHandler(wrap))
	tb.Cleanup(server.Close)
	return "wss" + strings.TrimPrefix(server.URL, "https")
}

// echoHandler opens WebSockets and echoes messages, or does what serve does.
func echoHandler(serve func(*websocket.Conn, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"chat"}, InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(-1)
		if serve != nil {
			serve(c, r)
			return
		}
		for {
			kind, message, err := c.Read(r.Context())
			if err != nil {
				return
			}
			if err := c.Write(r.Context(), kind, message); err != nil {
				return
			}
		}
	})
}
