package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
	"github.com/loadctl/loadctl/targets/wire"
)

// A mix performs each request as the Target of its step does, over shared connections.
func TestMixTarget(t *testing.T) {
	var mu sync.Mutex
	got := map[string]int{}
	from := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.Method+" "+r.URL.Path+" "+r.Header.Get("X")]++
		from[r.RemoteAddr] = true
		if r.URL.Path == "/teapot" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer server.Close()
	s := targets.Spec{Flows: []targets.Flow{
		{Name: "l", Weight: 4, Steps: []targets.Step{{Name: "list", URL: server.URL + "/list"}}},
		{Name: "t", Weight: 1, Steps: []targets.Step{{Name: "tea", URL: server.URL + "/teapot", Method: "PUT", Headers: []targets.Header{{Name: "X", Value: "y"}}, Expect: "418"}}},
	}}
	target, err := client.New(s, targets.Local{})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	mix := s.Mix()
	for n := range uint64(100) {
		if out := target.Do(context.Background(), targets.Call{Number: n, Step: mix.Step(n)}); out.Class != "" {
			t.Fatal(n, out)
		}
	}
	if got["GET /list "] != 80 || got["PUT /teapot y"] != 20 || len(from) != 1 {
		t.Errorf("%v over %d connections", got, len(from))
	}
	wire, err := wire.New(s, targets.Local{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(5) {
		if text := string(wire.Step(mix.Step(n)).Request); strings.HasPrefix(text, "PUT /teapot") != (mix.Step(n) == 1) {
			t.Errorf("request %d: %s", n, text)
		}
	}
}
