//go:build linux

package loop

import (
	"fmt"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/engine/sockets"

	"github.com/loadctl/loadctl/internal/engine/worker"
	"github.com/loadctl/loadctl/internal/engine/worker/clienttest"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// open returns a client of spec, which is closed with the test.
func open(t testing.TB, spec targets.Spec, local targets.Local, connections int) *Client {
	t.Helper()
	wire, err := wire.New(spec, local)
	if err != nil {
		t.Fatalf("wire of %s: %v", spec.URL, err)
	}
	c, err := New(pacer.NewClock(), wire, connections)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClient(t *testing.T) {
	clienttest.TestClient(t, func(t *testing.T, o clienttest.Options) worker.Client {
		return open(t, targets.Spec{URL: o.URL, UnixSocket: o.UnixSocket, Insecure: true, Timeout: o.Timeout}, targets.Local{}, o.Connections)
	})
}

// rig drives a client in a test.
type rig struct {
	t    *testing.T
	c    *Client
	mix  *targets.Mix // nil = there is one step
	sent uint64
	got  []targets.Result

	unseen map[int32]sockets.Event // of conns, by index: see unnoticed
}

func newRig(t *testing.T, spec targets.Spec, local targets.Local, connections int) *rig {
	t.Helper()
	r := &rig{t: t, c: open(t, spec, local, connections)}
	t.Cleanup(r.close)
	return r
}

func (r *rig) close() {
	if err := r.c.Close(); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) send() bool {
	now := r.c.Now()
	call := targets.Call{Number: r.sent}
	if r.mix != nil {
		call.Step = r.mix.Step(r.sent)
	}
	ok := r.c.Send(now, now, call)
	if ok {
		r.sent++
	}
	return ok
}

func (r *rig) mustSend() {
	r.t.Helper()
	if !r.send() {
		r.t.Fatalf("request %d: busy", r.sent)
	}
}

func (r *rig) poll(d time.Duration) {
	r.t.Helper()
	if err := r.c.Poll(r.c.Now()+int64(d), func(x targets.Result) { r.got = append(r.got, x) }); err != nil {
		r.t.Fatal(err)
	}
}

// pollFor polls until there are n results in total.
func (r *rig) pollFor(n int) {
	r.t.Helper()
	for range 20 { // without an allocation
		if len(r.got) < n {
			r.poll(50 * time.Millisecond)
		}
	}
	if len(r.got) < n {
		r.polls(fmt.Sprintf("%d results", n), 50*time.Millisecond, func() bool { return len(r.got) >= n })
	}
	if len(r.got) > n {
		r.t.Fatalf("%d results, want %d", len(r.got), n)
	}
}

// do performs one request.
func (r *rig) do() targets.Outcome {
	r.t.Helper()
	n := len(r.got)
	r.mustSend()
	r.pollFor(n + 1)
	return r.got[n].Outcome
}

// timeOut lets all requests under way time out: their time is over now, however long it was to be.
func (r *rig) timeOut() {
	for cn := r.c.inFlight.first; cn != nil; cn = cn.next {
		cn.deadline = r.c.Now()
	}
}

// unnoticed lets a server do something, and waits until the poller tells of something to read on the connection of cn: data,
// an end, or an error. The loop does not see these events, nor others that come in the meantime.
func (r *rig) unnoticed(what string, cn *conn, do func()) {
	r.t.Helper()
	r.poll(0) // what was there before is no news
	do()
	r.await(what, cn)
}

// await is unnoticed for what a server does anyway. It returns the events.
func (r *rig) await(what string, cn *conn) sockets.Event {
	r.t.Helper()
	if r.unseen == nil {
		r.unseen = map[int32]sockets.Event{}
	}
	await.Polled(r.t, what, func() {
		n, err := r.c.poller.Wait(int64(time.Millisecond))
		if err != nil {
			r.t.Fatal(err)
		}
		for i := range n {
			index, what := r.c.poller.Event(i)
			r.unseen[index] |= what
		}
	}, func() bool { return r.unseen[cn.index]&sockets.CanRead != 0 })
	defer delete(r.unseen, cn.index)
	return r.unseen[cn.index]
}

// pollUntil polls until a condition holds.
func (r *rig) pollUntil(what string, ok func() bool) {
	r.t.Helper()
	r.polls(what, time.Millisecond, ok)
}

// polls polls, for at most d each time, until a condition holds.
func (r *rig) polls(what string, d time.Duration, ok func() bool) {
	r.t.Helper()
	await.Polled(r.t, what, func() { r.poll(d) }, ok)
}
