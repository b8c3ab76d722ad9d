package arrivals

import (
	"bufio"
	"errors"
	"net"
	"time"
)

// What a server speaks instead of HTTP.
const (
	Lines     = "tcp" // each line over TCP is a request, and its answer is the same line
	Datagrams = "udp" // each datagram of UDP is a request, and its answer is the same datagram
	Messages  = "ws"  // each message of WebSocket is a request, and its answer is the same message
)

// Bounds of what is echoed.
const (
	longestLine  = 64 << 10 // bytes
	mostDatagram = 64 << 10
	datagramRoom = 4 << 20 // bytes of the kernel, for datagrams that come while this process has no processor
)

// A packets is a UDP socket in place of a listener: it has an address and can be closed, and accepts nobody.
type packets struct{ net.PacketConn }

// Accept implements net.Listener.
func (packets) Accept() (net.Conn, error) { return nil, net.ErrClosed }

// Addr implements net.Listener.
func (p packets) Addr() net.Addr { return p.LocalAddr() }

// serveLines echoes the lines of one connection, until it ends. A longer line ends it.
func (s *Server) serveLines(conn net.Conn, l *lane) {
	br := bufio.NewReaderSize(conn, longestLine)
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return
		}
		at := int64(time.Since(s.began))
		s.arrived(l, at, nil)
		if !s.holdBack(at, at) {
			return
		}
		if _, err := conn.Write(line); err != nil {
			return
		}
	}
}

// serveDatagrams echoes datagrams until the server closes. An answer that waits is sent by a goroutine of its own, so
// that the next datagram is received and timed at once.
func (s *Server) serveDatagrams(conn net.PacketConn) {
	l := new(lane)
	s.mu.Lock()
	s.lanes = append(s.lanes, l)
	s.mu.Unlock()
	waits := s.opts.Latency > 0 || s.opts.Jitter > 0
	buf := make([]byte, mostDatagram)
	for {
		n, from, err := conn.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // of an answer that was refused
		}
		at := int64(time.Since(s.began))
		s.arrived(l, at, nil)
		if !waits && s.stalledTo.Load() <= at {
			_, _ = conn.WriteTo(buf[:n], from) // the peer may be gone
			continue
		}
		answer := append([]byte(nil), buf[:n]...)
		s.serving.Go(func() {
			if s.holdBack(at, at) {
				_, _ = conn.WriteTo(answer, from)
			}
		})
	}
}
