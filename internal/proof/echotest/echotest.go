// Package echotest has servers of tcp and udp for tests.
package echotest

import (
	"bufio"
	"net"
	"testing"
)

// Listen accepts connections until the test ends, serves each with f in a goroutine, and returns host and port.
func Listen(t *testing.T, address string, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				f(c)
			}()
		}
	}()
	return l.Addr().String()
}

// Lines answers each line with the same line.
func Lines(c net.Conn) {
	for br := bufio.NewReader(c); ; {
		line, err := br.ReadBytes('\n')
		if err != nil {
			return
		}
		if _, err := c.Write(line); err != nil {
			return
		}
	}
}

// Datagrams answers each datagram with what f makes of it, until the test ends; nil is no answer. It returns host and
// port.
func Datagrams(t *testing.T, address string, f func(b []byte) [][]byte) string {
	t.Helper()
	c, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		for buf := make([]byte, 1<<16); ; {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			for _, answer := range f(buf[:n]) {
				_, _ = c.WriteTo(answer, from)
			}
		}
	}()
	return c.LocalAddr().String()
}
