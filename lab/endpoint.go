//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// endpointOptions are the options of an endpoint, the process that is fired at. Flags carry them to the process.
//
// An endpoint prints where it listens and when the first request arrived. When its standard input ends, it prints the
// times of all arrivals:
//
//	listening 127.0.0.1:4711
//	first 123456789
//	end
//	<count><time><time>…        int64, little endian; CLOCK_MONOTONIC in ns
//
// All processes of the machine share this clock, so their times can be compared.
type endpointOptions struct {
	tls               bool
	three             bool          // with TLS: HTTP/3 too
	stallAt, stallFor time.Duration // from stallAt after the first arrival on, it reads nothing for stallFor
	speaks            string        // "" = HTTP; see spoken
	http2             bool          // serve HTTP/2, without TLS from the first byte on
	grpc              bool          // serve calls of gRPC, over HTTP/2 without TLS
	stamped           bool          // requests arrive when the kernel receives them, not when the endpoint reads them
	events            int           // of an answer, with speakEvents
	gap               time.Duration // between two of them
}

// AddFlags defines the flags that set the options. args writes the options as flags.
func (o *endpointOptions) AddFlags(f *flag.FlagSet) {
	f.BoolVar(&o.tls, "tls", false, "serve https")
	f.BoolVar(&o.three, "three", false, "")
	f.BoolVar(&o.http2, "http2", false, "")
	f.BoolVar(&o.grpc, "grpc", false, "")
	f.DurationVar(&o.stallAt, "stall-at", 0, "")
	f.DurationVar(&o.stallFor, "stall-for", 0, "")
	f.BoolVar(&o.stamped, "stamped", false, "")
	f.StringVar(&o.speaks, "speaks", "", "")
	f.IntVar(&o.events, "events", 1, "")
	f.DurationVar(&o.gap, "gap", 0, "")
}

func (o *endpointOptions) args() []string {
	return []string{"endpoint", fmt.Sprint("-tls=", o.tls), fmt.Sprint("-three=", o.three), fmt.Sprint("-stall-at=", o.stallAt), fmt.Sprint("-stall-for=", o.stallFor),
		fmt.Sprint("-stamped=", o.stamped), fmt.Sprint("-http2=", o.http2), "-speaks=" + o.speaks, fmt.Sprint("-grpc=", o.grpc),
		fmt.Sprint("-events=", o.events), fmt.Sprint("-gap=", o.gap)}
}

// endpointPart is the process.
func endpointPart(args []string) error {
	var o endpointOptions
	flags := flag.NewFlagSet("endpoint", flag.ContinueOnError)
	o.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	// Garbage collection is off: it would pause the endpoint, and there is next to no garbage, but of HTTP/3.
	if !o.three {
		debug.SetGCPercent(-1)
	}
	if o.tls && o.stamped {
		return serveStampedTLS(o, os.Stdin, os.Stdout)
	}
	if o.tls {
		return serveTLS(o.three, os.Stdin, os.Stdout)
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
	slices.Sort(e.times) // connections are not read in the order in which their requests were received
	return writeTimes(os.Stdout, e.times)
}

// writeTimes writes the last part of an endpoint's output.
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

// readTimes reads what writeTimes wrote after the line "end".
func readTimes(r io.Reader) ([]int64, error) {
	var n int64
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return nil, err
	}
	times := make([]int64, n)
	return times, binary.Read(r, binary.LittleEndian, times)
}

// monotonic returns the time of CLOCK_MONOTONIC, in ns.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // there is no Linux without it
	}
	return t.Nano()
}

// endpoint is the endpoint's process as its parent sees it.
type endpoint struct {
	*process
	stdin  io.WriteCloser
	stdout *os.File
	out    *bufio.Reader // of stdout
}

func startEndpoint(o endpointOptions) (*endpoint, error) {
	path, err := self()
	if err != nil {
		return nil, err
	}
	// This pipe is our own: package exec would close its pipe when the process ends, even with unread output.
	stdout, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close() //nolint:errcheck // the child has its own copy
	e := &endpoint{stdout: stdout, out: bufio.NewReaderSize(stdout, 1<<20)}
	e.process, err = spawn(serverCore, append([]string{path}, o.args()...), func(c *exec.Cmd) {
		c.Stdout = theirs
		e.stdin, c.Err = c.StdinPipe()
	})
	if err != nil {
		_ = stdout.Close() // the error of spawn is returned
		return nil, err
	}
	return e, nil
}

// end kills the process if it still runs, and closes its output.
func (e *endpoint) end() {
	e.kill()
	_ = e.stdout.Close() // errors do not matter: it was only read
}

// line waits for the next line, which must begin with this word, and returns the rest of it.
func (e *endpoint) line(ctx context.Context, word string, patience time.Duration) (string, error) {
	type read struct {
		line string
		err  error
	}
	lines := make(chan read, 1)
	go func() {
		line, err := e.out.ReadString('\n')
		lines <- read{line, err}
	}()
	select {
	case r := <-lines:
		rest, ok := strings.CutPrefix(strings.TrimSuffix(r.line, "\n"), word)
		if r.err != nil {
			return "", fmt.Errorf("read %q from the endpoint: %w", word, r.err)
		}
		if !ok {
			return "", fmt.Errorf("the endpoint says %q instead of %q", r.line, word)
		}
		return rest, nil
	case <-time.After(patience):
		return "", fmt.Errorf("the endpoint did not say %q within %v", strings.TrimSpace(word), patience)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// firstOrEnd waits for the first arrival. It returns an error if all clients end before it.
func (e *endpoint) firstOrEnd(ctx context.Context, clients []*process) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		for _, c := range clients {
			select {
			case <-c.done:
			case <-ctx.Done():
				return
			}
		}
		cancel(fmt.Errorf("it ended and sent nothing: %s", clients[0].lastWords()))
	}()
	first, err := e.line(ctx, "first ", firstPatience)
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	return first, err
}

// finish ends the endpoint and returns all arrivals.
func (e *endpoint) finish(ctx context.Context) ([]int64, error) {
	if err := e.stdin.Close(); err != nil {
		return nil, err
	}
	if _, err := e.line(ctx, "end", listenPatience); err != nil {
		if failed := e.await(ctx, listenPatience); failed != nil {
			return nil, failed // the endpoint says why
		}
		return nil, err
	}
	times, err := readTimes(e.out)
	if err != nil {
		return nil, fmt.Errorf("read the arrivals: %w", err)
	}
	return times, e.await(ctx, listenPatience)
}
