package targets

import "syscall"

// ipBindAddressNoPort is IP_BIND_ADDRESS_NO_PORT of linux/in.h, which package
// syscall does not have.
const ipBindAddressNoPort = 24

// bindLate makes bind choose only the address. The system chooses the port when it knows the peer, so one local port
// can serve several peers; else binding uses up ports much sooner. Old kernels lack this option and choose both at
// once, so the error is ignored.
func bindLate(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, ipBindAddressNoPort, 1)
	})
}
