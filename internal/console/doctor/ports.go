package doctor

import (
	"fmt"
	"io/fs"
)

// allPorts is the largest number of local ports: those below 1024 are reserved.
const allPorts = 65535 - 1024 + 1

// Ports returns nil if there are enough local ports for this many connections to one address, or if that cannot be
// found out. Each local address has its own ports; 0 addresses count as 1, which the system chooses. Else the error is
// one line that says what to do. Connections through a Unix socket need no ports.
func Ports(connections, addresses int) error {
	m := thisMachine(connections)
	m.addresses = addresses
	return preflight(connections, localPorts(m))
}

// localPorts checks the local ports: each connection between the same addresses needs its own.
func localPorts(m machine) Finding {
	ports, known := portRange(m.files)
	if !known {
		return ok("unknown")
	}
	return judgePorts(m.connections, ports, max(1, m.addresses))
}

// portRange returns how many ports the kernel uses for outgoing connections. Only Linux has a file that says so.
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
	mend := fmt.Sprintf("use more local addresses with --laddr, or --max-connections %d", ports)
	if connections <= allPorts*addresses {
		mend = `sysctl -w net.ipv4.ip_local_port_range="1024 65535"; or ` + mend
	}
	return bad(fmt.Sprintf("%d local ports are needed, but there are %d", connections, ports), mend)
}
