package doctor

import (
	"errors"
	"fmt"
)

// spare is how many descriptors a worker needs besides its connections: for Redis, files, the event loop.
const spare = 100

// Descriptors returns nil if this process may open this many connections. Else the error is one line that says what to
// do.
func Descriptors(connections int) error {
	return preflight(connections, descriptors(thisMachine(connections)))
}

// preflight returns a bad finding as an error.
func preflight(connections int, f Finding) error {
	if f.State != Bad {
		return nil
	}
	return fmt.Errorf("open %d connections: %w", connections, errors.New(f.Found+"; "+f.Mend))
}

// descriptors checks the file descriptors: each connection takes one.
func descriptors(m machine) Finding {
	soft, hard, known := descriptorLimit()
	if !known {
		return ok("unknown")
	}
	return judgeDescriptors(m.connections, soft, hard)
}

// judgeDescriptors uses the soft limit, which Go has raised to the hard one if possible.
func judgeDescriptors(connections int, soft, hard uint64) Finding {
	need := uint64(connections) + spare
	if soft >= need {
		return ok(fmt.Sprintf("%d, enough for %d connections", soft, connections))
	}
	mend := fmt.Sprintf("ulimit -n %d", need)
	if need > hard {
		mend += " as root, or LimitNOFILE= in systemd, --ulimit nofile= in Docker"
	}
	if soft > spare {
		mend += fmt.Sprintf("; or --max-connections %d", soft-spare)
	}
	return bad(fmt.Sprintf("%d file descriptors are needed, %d are allowed", need, soft), mend)
}
