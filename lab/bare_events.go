//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// bareStreams is a baseline for clients of streams: one thread that waits, reads, and counts. It finds no events, has no clock
// and no schedule. What it costs is the system's, so no client can do much better.
func bareStreams() (tool, error) {
	path, err := self()
	return tool{
		name: "epoll and recv alone", program: "bench", path: path, version: "a baseline",
		args: func(l load) []string {
			return []string{"bare-sse", "-url", l.url, "-streams", fmt.Sprint(l.connections), "-length", l.length.String()}
		},
		read: func(output []byte) (claim, error) {
			var said struct{ Events int64 }
			if err := json.Unmarshal(output, &said); err != nil || said.Events == 0 {
				return claim{}, unread("the baseline", "number of events")
			}
			return claim{requests: said.Events}, nil
		},
		exact: true,
	}, err
}

// bareEventsPart is the process. It ends when the answers end that were open at the end.
func bareEventsPart(args []string) error {
	flags := flag.NewFlagSet("bare-sse", flag.ContinueOnError)
	from := flags.String("url", "", "")
	streams := flags.Int("streams", 1, "")
	length := flags.Duration("length", time.Second, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	poll, err := unix.EpollCreate1(0)
	if err != nil {
		return err
	}
	s := spinner{request: []byte("GET / HTTP/1.1\r\nHost: bench\r\n\r\n")}
	if err := s.connect(*from, *streams); err != nil {
		return err
	}
	for _, fd := range s.connections {
		if _, err := unix.Write(fd, s.request); err != nil {
			return err
		}
		if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
			return err
		}
	}
	events, err := readBare(poll, *streams, s.request, time.Now().Add(*length))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]int64{"events": events})
}

// readBare reads so many answers at a time, one after another, until a time. It returns how many events they had.
func readBare(poll, open int, request []byte, until time.Time) (events int64, err error) {
	ready, buffer := make([]unix.EpollEvent, 512), make([]byte, 16<<10)
	for open > 0 {
		n, err := unix.EpollWait(poll, ready, -1)
		if err != nil && err != unix.EINTR {
			return events, err
		}
		for _, e := range ready[:max(n, 0)] {
			fd := int(e.Fd)
			size, err := unix.Read(fd, buffer)
			if err != nil || size == 0 {
				return events, fmt.Errorf("an answer was cut: %w", err)
			}
			events += int64(bytes.Count(buffer[:size], []byte("data: ")))
			if !bytes.HasSuffix(buffer[:size], []byte(eventsEnd)) {
				continue
			}
			if time.Now().After(until) {
				open--
				continue
			}
			if _, err := unix.Write(fd, request); err != nil {
				return events, err
			}
		}
	}
	return events, nil
}
