//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// spinning is a baseline for the load generators: one thread that never sleeps and writes each request when it is due.
// It keeps its core at 100 %. How late its requests arrive is the best that this machine can do.
func spinning() (tool, error) {
	path, err := self()
	if err != nil {
		return tool{}, err
	}
	return tool{
		name: "a loop that spins", program: "bench", path: path,
		args: func(l load) []string {
			return []string{"spin", "-c", fmt.Sprint(l.connections), "-rate", fmt.Sprint(l.rate), "-for", l.length.String(), l.url}
		},
		read: func(output []byte) (claim, error) {
			n, err := strconv.ParseInt(strings.TrimSpace(string(output)), 10, 64)
			return claim{requests: n}, err
		},
		exact: true,
	}, nil
}

// spinPart is the process. It prints how many requests it sent.
func spinPart(args []string) error {
	flags := flag.NewFlagSet("spin", flag.ContinueOnError)
	connections := flags.Int("c", 1, "")
	rate := flags.Int64("rate", 1, "")
	length := flags.Duration("for", time.Second, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	debug.SetGCPercent(-1) // garbage collection would pause it, and there is next to no garbage
	s := spinner{request: []byte("GET / HTTP/1.1\r\nHost: bench\r\n\r\n")}
	if err := s.connect(flags.Arg(0), *connections); err != nil {
		return err
	}
	n := *rate * int64(*length) / int64(time.Second)
	if err := s.fire(n, *rate); err != nil {
		return err
	}
	_, err := fmt.Fprintln(os.Stdout, n)
	return err
}

// A spinner looks for answers while it waits for the next request to become due. Its connections take turns: request k
// uses connection k modulo their count. The spinner sends the next request of a connection only after it has read the
// last answer.
type spinner struct {
	request     []byte
	connections []int
	answered    int64
	buf         [4096]byte
}

func (s *spinner) connect(url string, connections int) error {
	to, err := net.ResolveTCPAddr("tcp4", strings.Trim(strings.TrimPrefix(url, "http:"), "/"))
	if err != nil {
		return err
	}
	for range connections {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}); err != nil {
			return err
		}
		if err := unix.SetNonblock(fd, true); err != nil {
			return err
		}
		s.connections = append(s.connections, fd)
	}
	return nil
}

// fire sends request k at k/rate after now. If its connection is busy, fire sends it as soon as the connection is
// free.
func (s *spinner) fire(n, rate int64) error {
	began := time.Now()
	count := int64(len(s.connections))
	for k := range n {
		for due := time.Duration(k * int64(time.Second) / rate); time.Since(began) < due || k-s.answered == count; {
			if err := s.look(k); err != nil {
				return err
			}
		}
		if _, err := unix.Write(s.connections[k%count], s.request); err != nil {
			return err
		}
	}
	for s.answered < n {
		if err := s.look(n); err != nil {
			return err
		}
	}
	return nil
}

// look reads the next answer to the requests sent so far, if it is there. Each answer comes in one piece here.
func (s *spinner) look(sent int64) error {
	if s.answered == sent {
		return nil
	}
	n, err := unix.Read(s.connections[s.answered%int64(len(s.connections))], s.buf[:])
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return err
	case n == 0:
		return errors.New("the endpoint hung up")
	}
	s.answered++
	return nil
}
