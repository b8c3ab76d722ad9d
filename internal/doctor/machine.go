package doctor

import (
	"io/fs"
	"os"
)

// machine is what the checks look at.
type machine struct {
	files       fs.FS // the root of the file system
	connections int   // that a worker is to open
	addresses   int   // that it opens them from; 0 = one, which the system chooses
	expected    int   // workers of a Redis here
}

// machineCheck looks at one thing about this machine.
type machineCheck struct {
	name string
	look func(machine) Finding
}

// machineChecks are all there are, in the order in which they are shown.
func machineChecks() []machineCheck {
	return []machineCheck{
		{"descriptors", descriptors},
		{"local ports", localPorts},
		{"cores", cores},
		{"cpu limit", cpuLimit},
	}
}

// Machine looks at this machine, as one for a worker with so many connections, and for a Redis with so many workers; 0 = not told.
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
