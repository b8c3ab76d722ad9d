package targets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/loadctl/loadctl/targets/grpc"
	"github.com/loadctl/loadctl/targets/http1"
	"github.com/loadctl/loadctl/targets/http2"
)

// useGRPC marks connections that carry calls of gRPC.
const useGRPC = "grpc"

// grpcTarget calls a method over gRPC: grpc://HOST[:PORT]/SERVICE/METHOD, or grpcs:// with TLS. Each connection carries
// one call at a time, and each call has one message, also that of a method with a stream of requests. A call ends with
// the last message of its answer.
//
// It is a request of HTTP/2 on the connections of all targets. The client library of gRPC cannot be stopped just before
// the first byte, and tells only texts of what went wrong with a connection.
//
// The rules of httpTarget hold here too: a call is tried on another connection only if the first one took none of its
// bytes, or said that it has not processed it. Bytes are those of the frames of headers and data.
type grpcTarget struct {
	timeout time.Duration
	to      endpoint
	once    bool // a connection carries one call
	message *message
	encoded *http2.Request // nil if each call has another
	expect  expectation
	halted  func() bool
	filler  filler
	began   time.Time
	pool    *pool

	buffers sync.Pool // *[]byte, for long answers
	calls   sync.Pool // *grpcCall
}

// A grpcCall has the buffers of one call.
type grpcCall struct {
	stream  http2.Stream
	request http2.Request
	text    []byte
}

// newGRPC is the constructor in the registry. The spec is valid.
func newGRPC(s Spec, local Local, connections *pool) (Target, error) {
	_, u, err := s.kind()
	if err != nil {
		return nil, err
	}
	m, err := newMessage(s, u, endpoint{}, s.parser(local.Tables), local.Credential)
	if err != nil {
		return nil, err
	}
	if m.calls == nil {
		return nil, errUndescribed
	}
	return openGRPC(s, m, local, connections)
}

// openGRPC returns the target of a message.
func openGRPC(s Spec, m *message, local Local, connections *pool) (*grpcTarget, error) {
	routes, err := parseRoutes(s.ConnectTo)
	if err != nil {
		return nil, err
	}
	t := &grpcTarget{
		timeout: s.timeout(), to: s.endpoint(m.url, routes), once: m.close, message: m,
		halted: local.Halted, filler: newFiller(local), began: time.Now(), pool: connections,
	}
	if t.to.use = useGRPC; m.url.Scheme == "grpcs" {
		t.to.name = m.url.Hostname()
	}
	if t.expect, err = newGRPCExpectation(s); err != nil {
		return nil, err
	}
	if m.wire != nil {
		t.encoded = new(http2.Request)
		if err := t.encoded.Encode(m.scheme(), m.wire); err != nil {
			return nil, err
		}
	}
	if t.halted == nil {
		t.halted = func() bool { return false }
	}
	if t.once {
		t.pool.dials = 0 // opening connections is the normal work of such a load
	}
	t.calls.New = func() any { return new(grpcCall) }
	t.buffers.New = func() any {
		buf := make([]byte, longBuffer)
		return &buf
	}
	return t, nil
}

// Do makes one call, and reads the whole answer. The call fills the placeholders.
func (t *grpcTarget) Do(ctx context.Context, call Call) Outcome {
	c := t.calls.Get().(*grpcCall)
	defer t.calls.Put(c)
	defer c.stream.Release()
	return t.do(ctx, call, c)
}

// do is Do with the buffers of the call, which have the answer afterwards.
func (t *grpcTarget) do(ctx context.Context, call Call, buffers *grpcCall) (out Outcome) {
	if err := ctx.Err(); err != nil {
		return Outcome{Class: classify(err, ClassCanceled)}
	}
	began := t.began.Add(time.Since(t.began)) // like time.Now, but reads one clock instead of two
	deadline := began.Add(t.timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	request := t.encoded
	if request == nil {
		request = &buffers.request
		buffers.text = t.message.fill(buffers.text, t.filler.request(call), call.Session)
		if len(buffers.text) == 0 || request.Encode(t.message.scheme(), buffers.text) != nil {
			return Outcome{Class: ClassRequest}
		}
	}
	moved := false
	for {
		c, reused, err := t.pool.take(ctx, deadline, t.to)
		if err != nil {
			out.Class = classify(blame(ctx, err), ClassOther)
			return out
		}
		if t.halted() {
			t.pool.give(c, true)
			out.Class = ClassCanceled
			return out
		}
		r := t.exchange(ctx, c, reused, request, &buffers.stream)
		if r.err == nil {
			t.pool.answered(r.keep)
		}
		t.pool.give(c, r.keep)
		out.BytesIn, out.BytesOut = out.BytesIn+r.in, out.BytesOut+r.out
		// The server had hung up before the first byte was written, or says that it looked at none. The loop ends, because
		// each turn uses up an idle connection, and the second case counts once.
		unprocessed := errors.Is(r.err, http2.ErrUnprocessed) && !moved
		if (reused && r.err != nil && r.out == 0 || unprocessed) && ctx.Err() == nil && time.Now().Before(deadline) {
			moved = moved || unprocessed
			continue
		}
		o := t.expect.ofGRPC(&buffers.stream, t.message.calls, time.Since(began), blame(ctx, r.err), ClassProtocol, call.Session)
		out.Status, out.Class = o.Status, o.Class
		return out
	}
}

// ofGRPC returns the outcome of a call whose answer is complete, or ended with an error.
func (e *expectation) ofGRPC(reply grpc.Reply, m *grpc.Method, took time.Duration, err error, rest string, session *Session) Outcome {
	if reply == nil { // the connection could not be opened
		return Outcome{Class: classify(err, rest)}
	}
	a := grpc.NewAnswer(reply, m)
	out := Outcome{Status: a.Status()}
	if errors.Is(err, http1.ErrBody) {
		err = errBodyLimit
	}
	if err == nil {
		err = a.Err()
	}
	if out.Class = classify(err, rest); out.Class == "" {
		out.Class = e.failed(a, took, session)
	}
	return out
}

// exchange sends a call on a connection, whose deadline is set, and reads the answer.
func (t *grpcTarget) exchange(ctx context.Context, c *conn, reused bool, request *http2.Request, s *http2.Stream) (r reply) {
	if reused {
		if r.err = c.settle(); r.err != nil {
			return r
		}
	}
	c.watch.begin(ctx)
	c.calls.Open(s, request, t.expect.limits)
	r.err = t.converse(c)
	if r.err != nil {
		c.calls.Fail(r.err)
	}
	if c.calls.Ended() != nil {
		r.err = s.Err()
	}
	r.in, r.out = int64(s.In()), int64(s.Out())
	r.keep = !c.watch.finish() && r.err == nil && !c.calls.Leaving() && !t.once
	return r
}

// converse writes what there is to say and reads what comes, until the stream has ended.
func (t *grpcTarget) converse(c *conn) error {
	buf := c.buf
	for {
		writeErr := c.say()
		n, readErr := 0, writeErr
		if writeErr == nil || !isTimeout(writeErr) { // a server may answer and hang up before it has read the whole message
			n, readErr = c.wire.Read(buf)
		}
		if err := c.calls.Feed(buf[:n]); err != nil {
			_ = c.say() // why
			return err
		}
		switch {
		case c.calls.Streams() == 0:
			c.raw.answered()
			return c.say()
		case writeErr != nil && readErr != nil:
			return writeErr
		case errors.Is(readErr, io.EOF):
			return io.ErrUnexpectedEOF
		case readErr != nil:
			return readErr
		}
		if n == readBuffer && len(buf) == readBuffer {
			larger := t.buffers.Get().(*[]byte)
			defer t.buffers.Put(larger)
			buf = *larger
		}
	}
}

// say writes what HTTP/2 has to say on a connection.
func (c *conn) say() error {
	for out := c.calls.Output(); len(out) > 0; out = c.calls.Output() {
		n, err := c.wire.Write(out)
		c.calls.Wrote(n)
		if err != nil {
			return err
		}
	}
	return nil
}

// settle takes what a server sent on an idle connection: it may have hung up or said that it is leaving. What it wants to
// hear goes out with the next call. The connection's deadline must be set.
func (c *conn) settle() error {
	for range mostSettled {
		some, err := c.raw.pending()
		if err != nil {
			return errHungUp
		}
		if !some {
			break
		}
		_ = c.raw.SetReadDeadline(time.Now().Add(settling)) // a record of TLS may hold nothing for us
		n, err := c.wire.Read(c.buf)
		_ = c.raw.SetReadDeadline(c.deadline)
		if err != nil && !isTimeout(err) || c.calls.Feed(c.buf[:n]) != nil {
			return errHungUp
		}
	}
	if c.calls.Leaving() {
		return errHungUp
	}
	return nil
}

// Bounds of settle: a server that has sent more sends too much.
const (
	mostSettled = 16 // reads
	settling    = 5 * time.Millisecond
)

// Reach opens a connection to the server, waits for the settings of HTTP/2, and closes it: nothing is called.
func (t *grpcTarget) Reach(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	c, err := t.pool.dial(ctx, deadline, t.to)
	if err != nil {
		return err
	}
	defer c.close(true)
	err = c.say()
	for err == nil && !c.calls.Greeted() {
		var n int
		if n, err = c.wire.Read(c.buf); n > 0 {
			if failed := c.calls.Feed(c.buf[:n]); failed != nil {
				err = failed
			}
		}
	}
	if err != nil && !c.calls.Greeted() {
		return fmt.Errorf("greet %s: the server does not speak HTTP/2, which gRPC needs", t.to.address)
	}
	return nil
}

// Opening reports whether requests wait because the maximum number of connections is being opened.
func (t *grpcTarget) Opening() bool { return t.pool.opening() }

// Preconnect opens connections as that of httpTarget does.
func (t *grpcTarget) Preconnect(ctx context.Context, n int, every time.Duration) int {
	return t.pool.preconnect(ctx, t.to, t.timeout, n, every)
}

func (t *grpcTarget) leads() endpoint { return t.to }

// Close closes idle connections now, and the others when their calls end.
func (t *grpcTarget) Close() error {
	t.pool.close()
	return nil
}
