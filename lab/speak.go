//go:build linux

package main

import (
	"bytes"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/targets/ws"
)

// What an endpoint may speak beside HTTP. Each answers a request with the same bytes, and parses as little as the loop
// does.
const (
	speakLines     = "tcp"   // lines
	speakDatagrams = "udp"   // datagrams
	speakRedis     = "redis" // PING, as redis-benchmark and loadworker send it; other commands are errors
	speakMessages  = "ws"    // short messages of WebSocket
	speakEvents    = "sse"   // answers over HTTP with events; each event counts as an arrival
)

// line is what the tools send over tcp, udp and in messages; it is answered with the same line.
const line = "hello, hello"

// spoken returns the answer to a request, and the bytes that end one.
func spoken(kind string) (answer, end []byte) {
	switch kind {
	case speakLines:
		return []byte(line + "\n"), []byte("\n")
	case speakDatagrams:
		return []byte(line), nil
	case speakRedis:
		return []byte("+PONG\r\n"), []byte("PING\r\n")
	case speakMessages:
		return ws.AppendFrame(nil, ws.Text, []byte(line), 0), nil
	}
	return []byte(httpAnswer), []byte("\r\n\r\n")
}

// requests returns how many requests came in some bytes. What else came is answered here.
func (l *loop) requests(fd int, b []byte) int {
	switch l.options.speaks {
	case speakDatagrams:
		return 1
	case speakMessages:
		return l.messages(fd, b)
	case speakRedis:
		for range bytes.Count(b, []byte("CONFIG\r\n")) + bytes.Count(b, []byte("INFO\r\n")) {
			l.send(fd, []byte("-ERR unknown command\r\n"))
		}
	}
	return bytes.Count(b, l.end)
}

// messages counts the messages in whole frames of less than 126 bytes, and answers handshakes.
func (l *loop) messages(fd int, b []byte) (n int) {
	if bytes.HasPrefix(b, []byte("GET ")) {
		_, key, _ := bytes.Cut(b, []byte("Sec-WebSocket-Key: "))
		key, _, _ = bytes.Cut(key, []byte("\r"))
		l.send(fd, fmt.Appendf(nil, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
			ws.Accept(string(key))))
		return 0
	}
	const head = 6 // bytes, with the key
	for len(b) >= head {
		switch ws.Opcode(b[0] & 0xf) {
		case ws.Text, ws.Binary:
			n++
		case ws.Close:
			l.send(fd, ws.AppendClose(nil, ws.Normal, 0))
		}
		b = b[min(len(b), head+int(b[1]&0x7f)):]
	}
	return n
}

// open opens the socket that the loop serves.
func (o *endpointOptions) open() (int, error) {
	kind := unix.SOCK_STREAM
	if o.speaks == speakDatagrams {
		kind = unix.SOCK_DGRAM
	}
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	if kind == unix.SOCK_DGRAM {
		return fd, nil
	}
	return fd, unix.Listen(fd, 4096)
}

// datagrams answers all datagrams that came.
func (l *loop) datagrams() {
	for {
		n, from, err := unix.Recvfrom(l.socket, l.buf[:], unix.MSG_DONTWAIT)
		if err != nil {
			return
		}
		l.arrived(l.now())
		_ = unix.Sendto(l.socket, l.buf[:n], unix.MSG_DONTWAIT, from) // the peer may be gone
	}
}
