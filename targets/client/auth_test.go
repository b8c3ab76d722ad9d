package client_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// headers keeps the Authorization header of each request, by path.
type headers struct {
	mu  sync.Mutex
	got []string
}

func (h *headers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.got = append(h.got, r.URL.Path+" "+strings.Join(r.Header["Authorization"], "+"))
	h.mu.Unlock()
	if to, ok := strings.CutPrefix(r.URL.Path, "/to/"); ok {
		w.Header().Set("Location", "/"+to)
		if to == "elsewhere" {
			w.Header().Set("Location", strings.Replace("http://"+r.Host+"/", "127.0.0.1", "localhost", 1))
		}
		w.WriteHeader(http.StatusPermanentRedirect)
	}
}

// take returns what came since the last call.
func (h *headers) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	got := h.got
	h.got = nil
	return got
}

// TestCredential: each request has the value of its time, of the Target and of the Wire, also with placeholders.
func TestCredential(t *testing.T) {
	var got headers
	server := serve(t, got.ServeHTTP)
	for _, spec := range []targets.Spec{{}, {Headers: []targets.Header{{Name: "X", Value: "${ordinal}"}}}, {Body: []byte("static")}, {Body: []byte("${uuid}")}} {
		var c targets.Credential
		if err := c.Set("Bearer one"); err != nil {
			t.Fatal(err)
		}
		spec.URL, spec.Auth = server.URL, "bearer:@f"
		target := open(t, spec, targets.Local{Credential: &c})
		wire, err := wire.New(spec, targets.Local{Credential: &c})
		if err != nil || wire.Request != nil {
			t.Fatal(err)
		}
		for _, value := range []string{"Bearer one", "Bearer one", "Bearer a-longer-one", "Bearer 2"} {
			if err := c.Set(value); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				do(t, target, 200, "")
				if lines := got.take(); !slices.Equal(lines, []string{"/ " + value}) {
					t.Errorf("%+v: %q, want %s", spec, lines, value)
				}
				if text := string(wire.Fill(nil, targets.Call{})); strings.Count(text, "Authorization: "+value+"\r\n") != 1 {
					t.Errorf("%+v: %q, want %s", spec, text, value)
				}
			}
		}
	}
}

// TestCredentialOfSteps: what a step says of itself wins.
func TestCredentialOfSteps(t *testing.T) {
	var got headers
	server := serve(t, got.ServeHTTP)
	host := strings.TrimPrefix(server.URL, "http://")
	flow := targets.Flow{Name: "f", Steps: []targets.Step{
		{Name: "a", URL: server.URL + "/a"},
		{Name: "b", URL: server.URL + "/b", Headers: []targets.Header{{Name: "authorization", Value: "own"}}},
		{Name: "c", URL: "http://u:p@" + host + "/c"},
	}}
	want := []string{"/a Bearer x", "/b own", "/c " + targets.Basic("u:p")}
	for _, auth := range []string{"bearer:@f", "basic:x:y"} {
		if auth != "bearer:@f" {
			want[0] = "/a " + targets.Basic("x:y")
		}
		var c targets.Credential
		if err := c.Set("Bearer x"); err != nil {
			t.Fatal(err)
		}
		spec := targets.Spec{Auth: auth, Flows: []targets.Flow{flow}}
		target := open(t, spec, targets.Local{Credential: &c})
		wire, err := wire.New(spec, targets.Local{Credential: &c})
		if err != nil {
			t.Fatal(err)
		}
		for i := range flow.Steps {
			target.Do(t.Context(), targets.Call{Step: i})
			w := wire.Step(i)
			text := w.Request
			if text == nil {
				text = w.Fill(nil, targets.Call{Step: i})
			}
			_, header, _ := strings.Cut(want[i], " ")
			if n := strings.Count(strings.ToLower(string(text)), "authorization: "+strings.ToLower(header)+"\r\n"); n != 1 || strings.Count(strings.ToLower(string(text)), "authorization") != 1 {
				t.Errorf("step %d: %q, want %s", i, text, header)
			}
		}
		if lines := got.take(); !slices.Equal(lines, want) {
			t.Errorf("%q, want %q", lines, want)
		}
	}
}

// TestCredentialAfterARedirect: the same host gets the value, another one does not.
func TestCredentialAfterARedirect(t *testing.T) {
	var got headers
	server := serve(t, got.ServeHTTP)
	var c targets.Credential
	if err := c.Set("Bearer x"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"/to/here":      {"/to/here Bearer x", "/here Bearer x"},
		"/to/elsewhere": {"/to/elsewhere Bearer x", "/ "},
	} {
		spec := targets.Spec{URL: server.URL + path, Auth: "bearer:@f", Redirects: 1, ConnectTo: []string{"localhost::127.0.0.1:"}}
		do(t, open(t, spec, targets.Local{Credential: &c, AllowHost: func(string) bool { return true }}), 200, "")
		if lines := got.take(); !slices.Equal(lines, want) {
			t.Errorf("%q, want %q", lines, want)
		}
	}
}
