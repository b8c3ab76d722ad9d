package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
)

// An answer without the value fails, with a class of its own.
func TestNothingToTake(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"a": null, "long": "`+strings.Repeat("x", 20_000)+`"}`)
	}))
	defer server.Close()
	for from, class := range map[string]string{
		"json b": "take v", "json a": "take v", "json long": "take v", "header X": "take v", "cookie c": "take v", "regex /y+/": "take v", "regex /x{3}/": "",
	} {
		s := targets.Spec{Flows: []targets.Flow{{Name: "f", Steps: []targets.Step{{Name: "one", URL: server.URL, Takes: []targets.Take{{Name: "v", From: from}}}}}}}
		target, err := client.New(s, targets.Local{})
		if err != nil {
			t.Fatal(err)
		}
		for _, session := range []*targets.Session{nil, new(targets.Session)} {
			if out := target.Do(t.Context(), targets.Call{Session: session}); out.Class != class || out.Status != 200 {
				t.Errorf("%s: %+v, want %q", from, out, class)
			}
		}
		target.Close()
	}
}
