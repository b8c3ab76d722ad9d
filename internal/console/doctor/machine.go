package doctor

import (
	"io/fs"
	"os"
)

// machine is the input of the machine checks.
type machine struct {
	files       fs.FS // the root of the file system
	connections int   // connections that a worker is to open
	addresses   int   // addresses that it opens them from; 0 = one, which the system chooses
	expected    int   // workers of a Redis on this machine
}

// machineCheck is one check of this machine.
type machineCheck struct {
	name string
	look func(machine) Finding
}

// machineChecks returns all checks, in the order in which they are shown.
func machineChecks() []machineCheck {
	return []machineCheck{
		{"descriptors", descriptors},
		{"local ports", localPorts},
		{"udp buffers", udpBuffers},
		{"cores", cores},
		{"cpu limit", cpuLimit},
	}
}

// Machine checks this machine for a worker with this many connections, and for a Redis with this many workers; 0 = not
// given.
func Machine(connections, expected int) []Finding {
	m := thisMachine(connections)
	m.expected = expected
	var findings []Finding
	checks := machineChecks()
	if expected > 0 {
		checks = append(checks, machineCheck{"redis descriptors", redisDescriptors})
	}
	for _, c := range checks {
		findings = append(findings, c.look(m).of(c.name))
	}
	return findings
}

func thisMachine(connections int) machine {
	return machine{files: os.DirFS("/"), connections: connections}
}
