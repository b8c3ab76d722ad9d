//go:build linux

package main

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// An endpoint is what is fired at: a process of its own. It says on standard output where it listens and when the first
// request came, and when its standard input ends, the times of all arrivals:
//
//	listening 127.0.0.1:4711
//	first 123456789
//	end
//	<count><time><time>…        int64, little endian; CLOCK_MONOTONIC in ns
//
// The clock is that of the machine, so that the times of several processes can be compared.
//
// Its options are told to it by flags.
type endpointOptions struct {
	tls               bool
	stallAt, stallFor time.Duration // it reads nothing for stallFor, from stallAt after the first arrival on
}

// AddFlags makes options of flags; args makes flags of options.
func (o *endpointOptions) AddFlags(f *flag.FlagSet) {
	f.BoolVar(&o.tls, "tls", false, "serve https")
	f.DurationVar(&o.stallAt, "stall-at", 0, "")
	f.DurationVar(&o.stallFor, "stall-for", 0, "")
}

func (o *endpointOptions) args() []string {
	return []string{"endpoint", fmt.Sprint("-tls=", o.tls), fmt.Sprint("-stall-at=", o.stallAt), fmt.Sprint("-stall-for=", o.stallFor)}
}

// endpointPart is the process.
func endpointPart(args []string) error {
	var o endpointOptions
	flags := flag.NewFlagSet("endpoint", flag.ContinueOnError)
	o.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	// It shall not stop to collect garbage, of which it makes next to none.
	debug.SetGCPercent(-1)
	if o.tls {
		return serveTLS(os.Stdin, os.Stdout)
	}
	e, err := listen(o)
	if err != nil {
		return err
	}
	defer e.close()
	fmt.Fprintf(os.Stdout, "listening 127.0.0.1:%d\n", e.port)
	if err := e.serve(int(os.Stdin.Fd()), os.Stdout); err != nil {
		return err
	}
	return writeTimes(os.Stdout, e.times)
}

// writeTimes writes the last part of what an endpoint says.
func writeTimes(w io.Writer, times []int64) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "end")
	if err := binary.Write(out, binary.LittleEndian, int64(len(times))); err != nil {
		return err
	}
	if err := binary.Write(out, binary.LittleEndian, times); err != nil {
		return err
	}
	return out.Flush()
}

// readTimes reads it, after the line "end".
func readTimes(r io.Reader) ([]int64, error) {
	var n int64
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return nil, err
	}
	times := make([]int64, n)
	return times, binary.Read(r, binary.LittleEndian, times)
}

// monotonic is CLOCK_MONOTONIC, in ns.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // there is no Linux without it
	}
	return t.Nano()
}
