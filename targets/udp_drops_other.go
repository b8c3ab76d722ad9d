//go:build !linux

package targets

import "net"

// droppedAt returns 0: this system does not tell what it dropped.
func droppedAt(*net.UDPConn) int64 { return 0 }
