package doctor

import (
	"fmt"
	"io/fs"
)

// allPorts is how many local ports there can be: below 1024 they are not for everybody.
const allPorts = 65535 - 1024 + 1

// Ports is nil if there are local ports for so many connections to one address, or if it cannot be told. Otherwise the error is one line
// that says what to do. Connections through a Unix socket need none.
func Ports(connections int) error {
	return preflight(connections, localPorts(thisMachine(connections)))
}

// localPorts: each connection to the same address needs one of its own.
func localPorts(m machine) Finding {
	ports, known := portRange(m.files)
	if !known {
		return ok("unknown")
	}
	return judgePorts(m.connections, ports)
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

func judgePorts(connections, ports int) Finding {
	if ports >= connections {
		return ok(fmt.Sprintf("%d, enough for %d connections", ports, connections))
	}
	mend := fmt.Sprintf("--max-connections %d, on more machines", ports)
	if connections <= allPorts {
		mend = fmt.Sprintf(`sysctl -w net.ipv4.ip_local_port_range="1024 65535"; or --max-connections %d`, ports)
	}
	return bad(fmt.Sprintf("%d local ports are needed, there are %d", connections, ports), mend)
}
