//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// spinning is no load generator but the floor beneath all of them: one thread that never sleeps and writes each request when it is due. As
// late as its requests arrive, with its core at 100 %, the machine makes them.
func spinning() (tool, error) {
	path, err := self()
	if err != nil {
		return tool{}, err
	}
	return tool{
		name: "a loop that spins", program: "bench", path: path, ask: []string{"-h"}, found: regexp.MustCompile(`$^`),
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

// spinPart is the process. It says how many requests it sent.
func spinPart(args []string) error {
	flags := flag.NewFlagSet("spin", flag.ContinueOnError)
	connections := flags.Int("c", 1, "")
	rate := flags.Int64("rate", 1, "")
	length := flags.Duration("for", time.Second, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	debug.SetGCPercent(-1) // it makes next to no garbage
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

// A spinner looks for answers while it waits for the next instant.
type spinner struct {
	request    []byte
	free, busy []int // connections; those that are busy in the order of their requests, which is that of the answers
	buf        [4096]byte
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
		s.free = append(s.free, fd)
	}
	return nil
}

// fire sends request k at k/rate after now, or, while no connection is free, as soon as one is.
func (s *spinner) fire(n, rate int64) error {
	began := time.Now()
	for k := range n {
		for due := time.Duration(k * int64(time.Second) / rate); time.Since(began) < due || len(s.free) == 0; {
			if err := s.look(); err != nil {
				return err
			}
		}
		fd := s.free[0]
		s.free, s.busy = s.free[1:], append(s.busy, fd)
		if _, err := unix.Write(fd, s.request); err != nil {
			return err
		}
	}
	for len(s.busy) > 0 {
		if err := s.look(); err != nil {
			return err
		}
	}
	return nil
}

// look takes in the next answer, if it is there: here each is one piece.
func (s *spinner) look() error {
	if len(s.busy) == 0 {
		return nil
	}
	n, _, err := unix.Recvfrom(s.busy[0], s.buf[:], unix.MSG_DONTWAIT)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return err
	case n == 0:
		return errors.New("the endpoint hung up")
	}
	s.free, s.busy = append(s.free, s.busy[0]), s.busy[1:]
	return nil
}
