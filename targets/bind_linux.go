package targets

import "syscall"

// ipBindAddressNoPort is IP_BIND_ADDRESS_NO_PORT of linux/in.h, which package
// syscall does not have.
const ipBindAddressNoPort = 24

// bindLate makes bind choose only the address. The port is then chosen when
// the peer is known, so a local port can serve several peers; else binding
// uses up ports much sooner. Old kernels without it do it the old way, so the
// error does not matter.
func bindLate(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, ipBindAddressNoPort, 1)
	})
}
