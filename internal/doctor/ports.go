package doctor

import (
	"fmt"
	"io/fs"
)

// allPorts is how many local ports there can be: below 1024 they are not for everybody.
const allPorts = 65535 - 1024 + 1

// Ports is nil if there are local ports for so many connections to one address from so many local addresses, each of which has ports of its
// own (0 is as 1: the system chooses one), or if it cannot be told. Otherwise the error is one line that says what to do. Connections
// through a Unix socket need none.
func Ports(connections, addresses int) error {
	m := thisMachine(connections)
	m.addresses = addresses
	return preflight(connections, localPorts(m))
}

// localPorts: each connection from and to the same addresses needs one of its own.
func localPorts(m machine) Finding {
	ports, known := portRange(m.files)
	if !known {
		return ok("unknown")
	}
	return judgePorts(m.connections, ports, max(1, m.addresses))
}

// portRange is how many ports the kernel serves outgoing connections from. Only Linux tells by a file.
func portRange(files fs.FS) (ports int, known bool) {
	text, err := fs.ReadFile(files, "proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, false
	}
	var first, last int
	if _, err := fmt.Sscan(string(text), &first, &last); err != nil || first > last {
		return 0, false
	}
	return last - first + 1, true
}

func judgePorts(connections, each, addresses int) Finding {
	ports := each * addresses
	if ports >= connections {
		return ok(fmt.Sprintf("%d, enough for %d connections", ports, connections))
	}
	mend := fmt.Sprintf("more local addresses with --laddr, or --max-connections %d", ports)
	if connections <= allPorts*addresses {
		mend = `sysctl -w net.ipv4.ip_local_port_range="1024 65535"; or ` + mend
	}
	return bad(fmt.Sprintf("%d local ports are needed, there are %d", connections, ports), mend)
}
