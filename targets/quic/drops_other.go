//go:build !linux

package quic

import "net"

// droppedAt returns 0: this system does not report what it dropped.
func droppedAt(*net.UDPConn) int64 { return 0 }
