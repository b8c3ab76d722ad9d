package worker_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// serveTLS makes this binary a server. The cost of a client can be measured only if the server is another process.
const serveTLS = "LOADCTL_TEST_SERVE_TLS"

func TestMain(m *testing.M) {
	if os.Getenv(serveTLS) == "" {
		os.Exit(m.Run())
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "Hello, World!") }))
	fmt.Println(s.URL)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it, or ends
	s.Close()
}
