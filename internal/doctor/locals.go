package doctor

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// Locals is nil if connections can be made from each of these IP addresses. Otherwise the error is one line that says what to do.
func Locals(addresses []string) error {
	for _, a := range addresses {
		l, err := net.Listen("tcp", net.JoinHostPort(a, "0"))
		if err != nil {
			if e, ok := errors.AsType[*os.SyscallError](err); ok {
				err = e.Err // the rest is about listening
			}
			return fmt.Errorf("connect from %s: %w; give an address of this machine", a, err)
		}
		l.Close()
	}
	return nil
}
