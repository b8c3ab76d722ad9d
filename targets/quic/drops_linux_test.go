package quic

import (
	"net"
	"testing"
)

// TestDroppedDatagrams: what does not fit into the buffer of a socket is counted, and nothing before.
func TestDroppedDatagrams(t *testing.T) {
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetReadBuffer(1); err != nil { // the smallest possible
		t.Fatal(err)
	}
	if n := droppedAt(c); n != 0 {
		t.Fatalf("%d are dropped before any was sent", n)
	}
	from, err := net.Dial("udp", c.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	const sent = 100
	for range sent {
		if _, err := from.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if n := droppedAt(c); n < sent/2 || n >= sent {
		t.Errorf("%d of %d are dropped", n, sent)
	}
}
