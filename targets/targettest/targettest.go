// Package targettest tests that a targets.Scheme of a program's own follows the documentation of targets.Sender:
//
//	func TestScheme(t *testing.T) {
//		server := start(t) // a real one, that counts the requests it gets
//		targettest.Run(t, scheme(), targettest.Server{
//			Spec:  targets.Spec{URL: "mqtt://" + server.addr + "/load", Body: []byte("hello ${ordinal}")},
//			Count: server.count,
//		})
//	}
//
// Run sends through a relay, which also plays servers that misbehave. So the scheme must connect to Request.Address over TCP.
// It takes a few seconds, and should run with the race detector too.
package targettest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// A Server is a real server that a scheme is tested with. Run alone uses it while it runs.
type Server struct {
	// Spec describes a request that succeeds. Its URL leads to the server. Placeholders in its URL or its body make requests
	// differ.
	Spec targets.Spec
	// Count returns how many requests the server has got so far, and all of those that it has answered.
	Count func() int64
	// Good says what is wrong with the answer to a request that has succeeded, if the Sender takes any bytes for an answer. nil =
	// the Sender knows. With it Run also finds answers that belong to other requests.
	Good func(targets.Request, targets.Answer) error
}

// Run reports each rule of targets.Sender that the scheme breaks, as a test of the rule's name that fails.
func Run(t *testing.T, scheme targets.Scheme, server Server) {
	t.Helper()
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			if err := r.check(scheme, server, patience); err != nil {
				t.Error(err)
			}
		})
	}
}

// patience is how long a scheme may take for what should take no time. It only ends tests of those that hang.
const patience = 10 * time.Second

// A rule is one that a Sender has to follow.
type rule struct {
	name string
	test func(*bench) error
}

// check says how a scheme breaks the rule; nil if it does not.
func (r rule) check(scheme targets.Scheme, server Server, patience time.Duration) error {
	b, err := newBench(scheme, server)
	if err != nil {
		return err
	}
	defer b.close()
	b.patience = patience
	return r.test(b)
}

// A bench is a Sender that sends through a relay.
type bench struct {
	Server
	relay *relay
	wire  *wire.Wire
	next  uint64 // number of the next request
	most  int    // connections that the Sender may have

	patience time.Duration
}

// newBench opens a Sender whose connections lead to a relay.
func newBench(scheme targets.Scheme, server Server) (*bench, error) {
	s := server.Spec.Using([]targets.Scheme{scheme})
	if err := wire.Validate(s); err != nil {
		return nil, fmt.Errorf("the spec: %w", err)
	}
	hosts := s.Hosts()
	if len(hosts) != 1 {
		return nil, fmt.Errorf("the scheme does not connect to one host: %q", hosts)
	}
	const most = 4
	relay, err := newRelay(hosts[0], most)
	if err != nil {
		return nil, err
	}
	b := &bench{Server: server, relay: relay, most: most}
	s.ConnectTo = []string{"::" + relay.address()}
	s.BodyLimit = bodyLimit
	if b.wire, err = wire.New(s, targets.Local{MaxConnections: b.most}); err != nil {
		relay.close()
		return nil, err
	}
	return b, nil
}

// bodyLimit is that of all tests, in bytes.
const bodyLimit = 64 << 10

func (b *bench) close() {
	_ = closing(b.wire.Shut)
	b.relay.close()
}

// closing calls a function that may panic.
func closing(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("Close panics: %v", p)
		}
	}()
	f()
	return nil
}

// request returns the next request.
func (b *bench) request() targets.Request {
	b.next++
	return b.wire.Asked(targets.Call{Number: b.next - 1})
}

// do performs a request. The error says that Do broke a rule that all calls have to follow.
func (b *bench) do(ctx context.Context, r targets.Request) (targets.Answer, error) {
	done := make(chan targets.Answer, 1)
	go func() { done <- b.wire.Do(ctx, r) }()
	var a targets.Answer
	select {
	case a = <-done:
	case <-ctx.Done():
		select {
		case a = <-done:
		case <-time.After(b.patience):
			return a, fmt.Errorf("Do has not returned %v after its context ended", b.patience)
		}
	}
	if a.Class == targets.ClassPanic {
		return a, fmt.Errorf("Do panics: %w", a.Err)
	}
	return a, nil
}

// send performs a request that has to succeed.
func (b *bench) send(r targets.Request) (targets.Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.patience)
	defer cancel()
	a, err := b.do(ctx, r)
	switch {
	case err != nil:
		return a, err
	case !succeeded(a):
		return a, fmt.Errorf("a request to a good server fails: class %q, error %w", a.Class, a.Err)
	case b.Good != nil:
		return a, b.Good(r, a)
	}
	return a, nil
}

// succeeded reports whether an answer is one of a request that did not fail.
func succeeded(a targets.Answer) bool { return a.Class == "" && a.Err == nil }

// soon waits until something is so.
func (b *bench) soon(ok func() bool) bool {
	for end := time.Now().Add(b.patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
