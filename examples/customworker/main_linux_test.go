package main

import (
	"os"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/brokertest"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/client"
	"github.com/loadctl/loadctl/targets/targettest"
	"github.com/loadctl/loadctl/targets/wire"
)

// newBroker starts a broker. make test-all installs one, and make test does not.
func newBroker(t *testing.T) *brokertest.Broker {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs it: it needs mosquitto")
	}
	return brokertest.Start(t)
}

// TestScheme asserts that the scheme follows the rules, at a real broker.
func TestScheme(t *testing.T) {
	broker := newBroker(t)
	targettest.Run(t, scheme(), targettest.Server{
		Spec:  targets.Spec{URL: "mqtt://" + broker.Addr() + "/load/${ordinal}", Body: []byte("hello ${ordinal}")},
		Count: broker.Count,
	})
}

// TestMessages asserts that a message arrives as it is, also one whose length takes several bytes, and that a retained one is.
func TestMessages(t *testing.T) {
	broker := newBroker(t)
	long := strings.Repeat("x", 70_000)
	spec := targets.Spec{URL: "mqtt://" + broker.Addr() + "/load/a%20b", Body: []byte(long), Settings: map[string]string{"retain": "true"}}
	target, err := client.New(spec.Using([]targets.Scheme{scheme()}), targets.Local{})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	if out := target.Do(t.Context(), targets.Call{}); out.Class != "" || out.BytesOut != int64(len(long)+len("load/a b")+2+2+1+3) || out.BytesIn != 4 {
		t.Errorf("%+v", out)
	}
	await.True(t, "the message", func() bool { return broker.Count() == 1 })
	if got := broker.Messages()[0]; got != "load/a b "+long {
		t.Errorf("%.40q of %d bytes", got, len(got))
	}
}

// TestCheck asserts that a publication that is none is refused in one line.
func TestCheck(t *testing.T) {
	for want, s := range map[string]targets.Spec{
		"topic":        {URL: "mqtt://h/"},
		"without +":    {URL: "mqtt://h/a/+"},
		"retain=true":  {URL: "mqtt://h/a", Settings: map[string]string{"retain": "yes"}},
		"leave others": {URL: "mqtt://h/a", Settings: map[string]string{"qos": "2"}},
		"header":       {URL: "mqtt://h/a", Headers: []targets.Header{{Name: "A", Value: "b"}}},
		"host":         {URL: "mqtt:a"},
	} {
		err := wire.Validate(s.Using([]targets.Scheme{scheme()}))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v, want it to say %q", s, err, want)
		}
	}
}

// TestSmall asserts that a worker of one's own takes at most 40 lines besides the protocol.
func TestSmall(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(text), "func main")
	if n := strings.Count(program, "\n"); n > 40 {
		t.Errorf("%d lines", n)
	}
}
