package client_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/targets"
	messages "github.com/loadctl/loadctl/targets/http3"
)

// TestThreeNothingIsSentTwice: a server closes the connection after each second request.
func TestThreeNothingIsSentTwice(t *testing.T) {
	s := startRawThree(t, settings, func(c *quic.Conn, stream *quic.Stream, n int64) {
		if n%2 == 0 {
			_ = c.CloseWithError(0x100, "")
			return
		}
		_, _ = io.WriteString(stream, ok200)
		stream.Close()
	})
	target := openThree(t, targets.Spec{URL: s.url, Timeout: 30 * time.Second}, targets.Local{})
	failed := 0
	for range 20 {
		if out := target.Do(context.Background(), targets.Call{}); out.Class != "" {
			failed++
		}
	}
	if s.requests.Load() != 20 || failed != 10 {
		t.Errorf("%d requests of 20, %d of 10 failed", s.requests.Load(), failed)
	}
}

// TestThreeGoAway: a request that a server will not handle, because it goes away, is sent over another connection. The
// others are answered.
func TestThreeGoAway(t *testing.T) {
	var controls sync.Map // of *quic.SendStream by connection
	control := func(c *quic.Conn) *quic.SendStream {
		known, ok := controls.Load(c)
		if !ok {
			stream, err := c.OpenUniStream()
			if err != nil {
				t.Error(err)
				return nil
			}
			_, _ = io.WriteString(stream, settings)
			known, _ = controls.LoadOrStore(c, stream)
		}
		return known.(*quic.SendStream)
	}
	second := make(chan struct{})
	s := startRawThree(t, "", func(c *quic.Conn, stream *quic.Stream, n int64) {
		switch n {
		case 1:
			<-second
			_, _ = io.WriteString(control(c), "\x07\x01\x04") // stream 0 is handled, and 4 is not
			time.Sleep(50 * time.Millisecond)
		case 2:
			close(second)
			return
		}
		_, _ = io.WriteString(stream, ok200)
		stream.Close()
	})
	target := openThree(t, targets.Spec{URL: s.url, Streams: 2}, targets.Local{MaxConnections: 1})
	first := make(chan targets.Outcome)
	go func() { first <- target.Do(context.Background(), targets.Call{}) }()
	for s.requests.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	do(t, target, 200, "") // over another connection
	if out := <-first; out.Class != "" {
		t.Errorf("%+v", out)
	}
	do(t, target, 200, "")
	if s.requests.Load() != 4 || s.connections.Load() != 2 {
		t.Errorf("%d requests on %d connections", s.requests.Load(), s.connections.Load())
	}
}

// TestThreeGoAwayWhileWaiting: a request waits for a stream, and the server goes away meanwhile. When there is a stream, the
// request is not sent on it, but over another connection.
func TestThreeGoAwayWhileWaiting(t *testing.T) {
	transport := &quic.Transport{Conn: udpSocket(t, 0)}
	listener, err := transport.Listen(threeTLS(), &quic.Config{MaxIncomingStreams: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { transport.Close() })
	begun, leave := make(chan struct{}), make(chan struct{})
	var refused, answered atomic.Int64
	serve := func(c *quic.Conn, leaves bool) {
		control, _ := c.OpenUniStream()
		_, _ = io.WriteString(control, settings)
		for n := 0; ; n++ {
			stream, err := c.AcceptStream(context.Background())
			if err != nil {
				return
			}
			if got, err := io.ReadAll(stream); leaves && n > 0 {
				if len(got) > 0 || err == nil {
					refused.Add(1) // it came in spite of GOAWAY
				}
				stream.CancelWrite(quic.StreamErrorCode(http3.ErrCodeRequestRejected))
				continue
			}
			if leaves {
				close(begun)
				<-leave
				_, _ = io.WriteString(control, "\x07\x01\x04") // stream 0 is handled, and 4 is not
				time.Sleep(50 * time.Millisecond)
			}
			answered.Add(1)
			_, _ = io.WriteString(stream, ok200)
			stream.Close()
		}
	}
	go func() {
		for leaves := true; ; leaves = false {
			c, err := listener.Accept(context.Background())
			if err != nil {
				return
			}
			go serve(c, leaves)
		}
	}()
	target := openThree(t, targets.Spec{URL: "https://" + listener.Addr().String(), Streams: 2}, targets.Local{MaxConnections: 1})
	var both sync.WaitGroup
	both.Go(func() { do(t, target, 200, "") })
	<-begun
	both.Go(func() { do(t, target, 200, "") })
	time.Sleep(50 * time.Millisecond) // it waits for a stream, probably
	close(leave)
	both.Wait()
	if refused.Load() != 0 || answered.Load() != 2 {
		t.Errorf("%d came in spite of GOAWAY, %d were answered", refused.Load(), answered.Load())
	}
}

// TestThreeGoAwayUnread: a server that goes away while it reads nothing of a long request. It is sent over another
// connection at once.
func TestThreeGoAwayUnread(t *testing.T) {
	var s *rawServer
	ready := make(chan struct{})
	s = startQUIC(t, nil, func(c *quic.Conn) {
		<-ready
		control := sendStream(c, settings)
		stream, err := c.AcceptStream(context.Background())
		if err != nil {
			return
		}
		if s.connections.Load() == 1 {
			_, _ = io.WriteString(control, "\x07\x01\x00")
			return
		}
		_, _ = io.Copy(io.Discard, stream)
		_, _ = io.WriteString(stream, ok200)
		stream.Close()
	})
	close(ready)
	target := openThree(t, targets.Spec{URL: s.url, Body: bytesOf('b', 8<<20), Timeout: 20 * time.Second}, targets.Local{})
	do(t, target, 200, "")
	if n := s.connections.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// TestThreeAnswersEarly: a server that wants no more of a long request, and answers. Its answer counts.
func TestThreeAnswersEarly(t *testing.T) {
	for answer, class := range map[string]string{ok200 + "\x00\x02ok": "", ok200 + "\x00\x05hello": "body-limit", "\x00\x02ok": "protocol"} {
		s := startQUIC(t, nil, func(c *quic.Conn) {
			sendStream(c, settings)
			if stream, err := c.AcceptStream(context.Background()); err == nil {
				stream.CancelRead(0x100)
				_, _ = io.WriteString(stream, answer)
				_ = stream.Close()
			}
		})
		target := openThree(t, targets.Spec{URL: s.url, Body: bytesOf('b', 8<<20), BodyLimit: 2, Timeout: 20 * time.Second}, targets.Local{})
		if out := target.Do(context.Background(), targets.Call{}); out.Class != class {
			t.Errorf("%q: %+v, want %q", answer, out, class)
		}
	}
}

// TestThreeShutdown: after a graceful end of the server no request that it answers is lost.
func TestThreeShutdown(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	s := startThree(t, func(http.ResponseWriter, *http.Request) { close(begun); <-release }, nil)
	target := openThree(t, targets.Spec{URL: s.url}, targets.Local{})
	ended := make(chan targets.Outcome)
	go func() { ended <- target.Do(context.Background(), targets.Call{}) }()
	<-begun
	down := make(chan error)
	go func() { down <- s.Shutdown(context.Background()) }()
	time.Sleep(20 * time.Millisecond)
	close(release)
	if out := <-ended; out.Class != "" || out.Status != 200 {
		t.Errorf("%+v", out)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

// TestThreeRestart: a server that restarts says so if it can (a stateless reset), or nothing. In both cases no further
// request fails: a connection without a sign of life takes none.
func TestThreeRestart(t *testing.T) {
	t.Parallel() // it waits for a timeout
	for name, key := range map[string]*quic.StatelessResetKey{"reset": {1}, "timeout": nil} {
		t.Run(name, func(t *testing.T) {
			socket := udpSocket(t, 0)
			port := socket.LocalAddr().(*net.UDPAddr).Port
			dead := &quic.Transport{Conn: socket, StatelessResetKey: key}
			begun, end := make(chan struct{}), make(chan struct{})
			serve := func(transport *quic.Transport, handle http.HandlerFunc) {
				listener, err := transport.Listen(threeTLS(), nil)
				if err != nil {
					t.Fatal(err)
				}
				server := &http3.Server{Handler: handle}
				go func() { _ = server.ServeListener(listener) }()
			}
			serve(dead, func(http.ResponseWriter, *http.Request) { close(begun); <-end })
			defer dead.Close()
			defer close(end)
			target := openThree(t, targets.Spec{URL: "https://" + socket.LocalAddr().String(), Timeout: 4 * time.Second}, targets.Local{})
			ended := make(chan targets.Outcome)
			go func() { ended <- target.Do(context.Background(), targets.Call{}) }()
			<-begun
			time.Sleep(100 * time.Millisecond) // the request is confirmed
			socket.Close()                     // as if the process had been killed
			fresh := &quic.Transport{Conn: udpSocket(t, port), StatelessResetKey: key}
			defer fresh.Close()
			serve(fresh, says("ok"))
			if out := <-ended; out.Class != name {
				t.Errorf("%+v, want %s", out, name)
			}
			do(t, target, 200, "")
		})
	}
}

// TestThreeBlackHole: datagrams that nobody answers are a timeout, and the next request opens another connection.
func TestThreeBlackHole(t *testing.T) {
	hole := udpSocket(t, 0)
	target := openThree(t, targets.Spec{URL: "https://" + hole.LocalAddr().String(), Timeout: 200 * time.Millisecond}, targets.Local{})
	began := time.Now()
	do(t, target, 0, "timeout")
	await.Soon(t, "a timeout", time.Since(began), 5*time.Second)
}

// TestThreePatience: while a server works on a request, the worker asks it for a sign of life. In acceptance it does so
// before the server ends the silent connection.
func TestThreePatience(t *testing.T) {
	t.Parallel()
	ours := startQUIC(t, &quic.Config{HandshakeIdleTimeout: time.Hour, MaxIdleTimeout: time.Hour}, func(c *quic.Conn) {
		sendStream(c, settings)
		stream, err := c.AcceptStream(context.Background())
		if err != nil {
			return
		}
		control, err := c.AcceptUniStream(context.Background())
		if err == nil { // what comes after the preface asks for a sign of life
			_, err = io.ReadFull(control, make([]byte, len(messages.Preface())+1))
		}
		if err == nil {
			_, _ = io.WriteString(stream, ok200)
			_ = stream.Close()
		}
	})
	target := openThree(t, targets.Spec{URL: ours.url, Timeout: time.Hour}, targets.Local{})
	await.Done(t, "a sign of life that is asked for", func() { do(t, target, 200, "") })
	if !await.Acceptance() {
		return
	}
	s := startThree(t, func(http.ResponseWriter, *http.Request) { time.Sleep(4800 * time.Millisecond) }, func(s *http3.Server) {
		s.QUICConfig = &quic.Config{MaxIdleTimeout: 4 * time.Second}
	})
	do(t, openThree(t, targets.Spec{URL: s.url, Timeout: 7 * time.Second}, targets.Local{}), 200, "")
}

// TestThreeFewStreams: a request that waits in vain until the server allows another stream says nothing about the
// connection.
func TestThreeFewStreams(t *testing.T) {
	release := make(chan struct{})
	s := startThree(t, func(http.ResponseWriter, *http.Request) { <-release }, func(s *http3.Server) {
		s.QUICConfig = &quic.Config{MaxIncomingStreams: 1}
	})
	target := openThree(t, targets.Spec{URL: s.url, Streams: 2}, targets.Local{MaxConnections: 1})
	var all sync.WaitGroup
	all.Go(func() { do(t, target, 200, "") })
	for s.requests.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if out := target.Do(ctx, targets.Call{}); out.Class != "timeout" || out.BytesOut > 0 {
		t.Errorf("%+v", out)
	}
	close(release)
	all.Wait()
	do(t, target, 200, "")
	if s.connections.Load() != 1 || s.requests.Load() != 2 {
		t.Errorf("%d connections, %d requests", s.connections.Load(), s.requests.Load())
	}
}

// TestThreeTimeout: a slow answer is a timeout, and its connection carries the next request, as the server confirms what
// comes.
func TestThreeTimeout(t *testing.T) {
	t.Parallel() // it waits for a timeout
	s := startThree(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
		}
	}, nil)
	local := targets.Local{MaxConnections: 1}
	target := openThree(t, targets.Spec{URL: s.url + "/slow", Timeout: 3 * time.Second}, local)
	do(t, target, 0, "timeout")
	do(t, target, 0, "timeout")
	if n := s.connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if out := target.Do(ctx, targets.Call{}); out.Class != "canceled" {
		t.Errorf("%+v", out)
	}
}

func TestThreeTLS(t *testing.T) {
	s := startThree(t, says("ok"), nil)
	other := &quic.Transport{Conn: udpSocket(t, 0)}
	defer other.Close()
	listener, err := other.Listen(&tls.Config{Certificates: certificates().TLS.Certificates, NextProtos: []string{"other"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	do(t, openThree(t, targets.Spec{URL: "https://" + listener.Addr().String()}, targets.Local{}), 0, "tls")
	wanting := startThree(t, says("ok"), func(s *http3.Server) {
		s.TLSConfig = http3.ConfigureTLSConfig(&tls.Config{Certificates: certificates().TLS.Certificates, ClientAuth: tls.RequireAnyClientCert})
	})
	do(t, openThree(t, targets.Spec{URL: wanting.url}, targets.Local{}), 0, "tls")
	cert, key := certificateFiles(t)
	do(t, openThree(t, targets.Spec{URL: wanting.url}, targets.Local{Cert: cert, Key: key}), 200, "")
	for name, c := range map[string]struct {
		spec  targets.Spec
		class string
	}{
		"trusted":    {targets.Spec{URL: s.url, CA: authority()}, ""},
		"other name": {targets.Spec{URL: "https://wrong.test", CA: authority(), ConnectTo: []string{"::" + strings.TrimPrefix(s.url, "https://")}}, "tls"},
		"its name":   {targets.Spec{URL: "https://example.com", CA: authority(), ConnectTo: []string{"::" + strings.TrimPrefix(s.url, "https://")}}, ""},
	} {
		out := openThree(t, c.spec, targets.Local{}).Do(context.Background(), targets.Call{})
		if out.Class != c.class {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// TestThreeClose: nothing runs on after Close, whatever the server does.
func TestThreeClose(t *testing.T) {
	s := startThree(t, says("ok"), nil)
	silent := startRawThree(t, "", func(*quic.Conn, *quic.Stream, int64) {})
	do(t, openThree(t, targets.Spec{URL: s.url}, targets.Local{}), 200, "")
	before := runtime.NumGoroutine()
	for _, url := range []string{s.url, silent.url} {
		target := openThree(t, targets.Spec{URL: url, Timeout: 200 * time.Millisecond}, targets.Local{})
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { target.Do(context.Background(), targets.Call{}) })
		}
		all.Wait()
		target.Close()
		target.Close()
		if out := target.Do(context.Background(), targets.Call{}); out.Class != "canceled" {
			t.Errorf("after Close: %+v", out)
		}
	}
	await.True(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
}

// TestThreeResumes: connections but the first resume a session of TLS.
func TestThreeResumes(t *testing.T) {
	var resumed atomic.Int64
	s := startThree(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.TLS.DidResume {
			resumed.Add(1)
		}
	}, nil)
	target := openThree(t, targets.Spec{URL: s.url, NoKeepAlive: true}, targets.Local{})
	await.True(t, "a connection that resumes a session", func() bool { // its ticket may come a little later
		do(t, target, 200, "")
		return resumed.Load() > 0
	})
}
