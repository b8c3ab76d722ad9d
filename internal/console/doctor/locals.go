package doctor

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// Locals returns nil if this machine can connect from each of these IP addresses. Else the error is one line that says
// what to do.
func Locals(addresses []string) error {
	for _, a := range addresses {
		l, err := net.Listen("tcp", net.JoinHostPort(a, "0"))
		if err != nil {
			if e, ok := errors.AsType[*os.SyscallError](err); ok {
				err = e.Err // without the part about listening
			}
			return fmt.Errorf("connect from %s: %w; give an address of this machine", a, err)
		}
		l.Close()
	}
	return nil
}
