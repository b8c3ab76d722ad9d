package targets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	"github.com/loadctl/loadctl/targets/grpc"
)

// useGRPC marks connections that carry calls of gRPC.
const useGRPC = "grpc"

// grpcTarget calls a method over gRPC: grpc://HOST[:PORT]/SERVICE/METHOD, or grpcs:// with TLS. Each connection carries
// one call at a time, and each call has one message, also that of a method with a stream of requests. A call ends with
// the last message of its answer.
//
// It speaks HTTP/2 itself, on the connections of all targets. The client library sends a call again that the server did
// not process, cannot be stopped just before the first byte, and tells only texts of what went wrong with a connection.
//
// The rules of httpTarget hold here too: a call is tried on another connection only if the first one took none of its
// bytes. Bytes are those of the frames of headers and data.
type grpcTarget struct {
	timeout time.Duration
	to      endpoint
	once    bool // a connection carries one call
	request *grpcRequest
	expect  expectation
	limits  grpc.Limits
	halted  func() bool
	filler  filler
	began   time.Time
	pool    *pool

	buffers sync.Pool // *[]byte, for long answers
	calls   sync.Pool // *grpcCall
}

// A grpcCall has the buffers of one call.
type grpcCall struct {
	answer               grpc.Answer
	block, message, text []byte
}

// newGRPC is the constructor in the registry. The spec is valid.
func newGRPC(s Spec, local Local, connections *pool) (Target, error) {
	_, u, err := s.kind()
	if err != nil {
		return nil, err
	}
	method, err := s.calls(u)
	if err != nil {
		return nil, err
	}
	request, err := newGRPCRequest(s, u, method, s.parser(local.Tables), local.Credential)
	if err != nil {
		return nil, err
	}
	return openGRPC(s, u, request, local, connections)
}

// openGRPC returns the target of a request.
func openGRPC(s Spec, u *url.URL, request *grpcRequest, local Local, connections *pool) (*grpcTarget, error) {
	routes, err := parseRoutes(s.ConnectTo)
	if err != nil {
		return nil, err
	}
	t := &grpcTarget{
		timeout: s.timeout(), once: s.NoKeepAlive, request: request,
		halted: local.Halted, filler: newFiller(local), began: time.Now(), pool: connections,
	}
	if t.expect, err = newGRPCExpectation(s); err != nil {
		return nil, err
	}
	t.limits = grpc.Limits{Message: s.bodyLimit(), Content: min(t.expect.limits.Content, grpc.MaxShown), Fields: t.expect.limits.Fields}
	if t.halted == nil {
		t.halted = func() bool { return false }
	}
	t.to = endpoint{network: "tcp", address: routes.apply(u.Hostname(), port(u)), use: useGRPC}
	if s.UnixSocket != "" {
		t.to.network, t.to.address = "unix", s.UnixSocket
	}
	if u.Scheme == "grpcs" {
		t.to.name = u.Hostname()
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
	block, message, err := t.fill(call, buffers)
	if err != nil {
		return Outcome{Class: ClassRequest}
	}
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
		r := t.exchange(ctx, c, reused, block, message, &buffers.answer)
		if r.err == nil {
			t.pool.answered(r.keep)
		}
		t.pool.give(c, r.keep)
		out.BytesIn, out.BytesOut = out.BytesIn+r.in, out.BytesOut+r.out
		// The server had hung up before the first byte was written. The loop ends, because each turn uses up an idle
		// connection.
		if reused && r.err != nil && r.out == 0 && ctx.Err() == nil && time.Now().Before(deadline) {
			continue
		}
		out.Status = r.status
		if out.Class = classify(blame(ctx, r.err), ClassProtocol); out.Class == "" {
			out.Class = t.expect.failed(&buffers.answer, time.Since(began), call.Session)
		}
		return out
	}
}

// fill returns what is sent for a call.
func (t *grpcTarget) fill(call Call, c *grpcCall) (block, message []byte, err error) {
	q := t.request
	if len(q.fields) == 0 && q.fixed != nil {
		return q.block, q.fixed, nil
	}
	r := t.filler.request(call)
	if block = q.headers(c.block, r); len(q.fields) > 0 {
		c.block = block
	}
	if message, err = q.message(c.message, c.text, r); q.fixed == nil {
		c.message = message
	}
	return block, message, err
}

// exchange sends a call on a connection, whose deadline is set, and reads the answer.
func (t *grpcTarget) exchange(ctx context.Context, c *conn, reused bool, block, message []byte, a *grpc.Answer) (r reply) {
	if reused {
		r.err = c.settle()
	}
	c.watch.begin(ctx)
	a.Begin(t.request.method, t.limits)
	if r.err == nil {
		c.calls.Begin(block, message, a)
		var n int
		n, r.err = c.wire.Write(c.calls.Output())
		if r.out = int64(n); r.err == nil || n > 0 && !isTimeout(r.err) {
			// A server may answer and hang up before it has read the whole message.
			if err := t.receive(c, &r); r.err == nil || err == nil {
				r.err = err
			}
		}
		r.in, r.status = c.calls.In(), a.Status()
	}
	r.keep = !c.watch.finish() && r.err == nil && c.calls.Reusable() && !t.once
	return r
}

// receive reads to the end of the answer, and writes what the protocol asks for in the meantime.
func (t *grpcTarget) receive(c *conn, r *reply) error {
	buf := c.buf
	for {
		n, readErr := c.wire.Read(buf)
		done, err := c.calls.Feed(buf[:n])
		switch {
		case err != nil:
			return err
		case done:
			c.raw.answered()
			return nil
		case errors.Is(readErr, io.EOF):
			return io.ErrUnexpectedEOF
		case readErr != nil:
			return readErr
		}
		if out := c.calls.Output(); len(out) > 0 {
			n, err := c.wire.Write(out)
			if r.out += int64(n); err != nil {
				return err
			}
		}
		if n == readBuffer && len(buf) == readBuffer {
			larger := t.buffers.Get().(*[]byte)
			defer t.buffers.Put(larger)
			buf = *larger
		}
	}
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
		if err != nil && !isTimeout(err) {
			return errHungUp
		}
		if _, err := c.calls.Feed(c.buf[:n]); err != nil {
			return errHungUp
		}
	}
	if !c.calls.Reusable() {
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
	_, err = c.wire.Write(c.calls.Output())
	for err == nil && !c.calls.Greeted() {
		var n int
		if n, err = c.wire.Read(c.buf); n > 0 {
			if _, failed := c.calls.Feed(c.buf[:n]); failed != nil {
				return fmt.Errorf("greet %s: %w", t.to.address, failed)
			}
		}
	}
	if errors.Is(err, io.EOF) || isTimeout(err) {
		err = errors.New("the server does not speak HTTP/2, which gRPC needs")
	}
	if err != nil && !c.calls.Greeted() {
		return fmt.Errorf("greet %s: %w", t.to.address, err)
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

// AskGRPC sends one encoded message to a method and returns the first message of the answer, also of a stream. It is for
// questions about a server, such as what it offers, and not for load. spec says how to connect; its URL names the method.
func AskGRPC(ctx context.Context, s Spec, local Local, message []byte) (answer []byte, status int, err error) {
	_, u, err := s.kind()
	if err != nil {
		return nil, 0, err
	}
	s.Body, s.Expect, s.Checks = nil, "", nil
	q, err := newGRPCRequest(s, u, nil, literally, local.Credential)
	if err != nil {
		return nil, 0, err
	}
	if q.fixed, err = grpc.AppendMessage(nil, func(b []byte) ([]byte, error) { return append(b, message...), nil }); err != nil {
		return nil, 0, err
	}
	connections, err := newPool(s, local)
	if err != nil {
		return nil, 0, err
	}
	t, err := openGRPC(s, u, q, local, connections)
	if err != nil {
		return nil, 0, err
	}
	defer t.Close()
	t.limits.Content = int(t.limits.Message)
	c := t.calls.Get().(*grpcCall)
	out := t.do(ctx, Call{}, c)
	if out.Status == 0 {
		return nil, 0, fmt.Errorf("ask %s: %s", t.to.address, out.Class)
	}
	return c.answer.Content(), out.Status, nil
}
