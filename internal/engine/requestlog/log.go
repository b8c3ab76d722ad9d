package requestlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// How often things are done.
const (
	lookEvery  = 20 * time.Millisecond
	flushEvery = time.Second
)

// closePatience is how long Close waits for a file system that hangs.
const closePatience = 5 * time.Second

// mostWaiting bounds the requests that wait to be written, in all parts. At 20,000 requests a second it lasts 3 s.
const mostWaiting = 1 << 16

// A Log is a file that gets a line for each request. Start it once, and close it when no producer adds any more.
type Log struct {
	path   string
	format format
	file   io.Writer

	options Options
	rings   []*ring
	stopped atomic.Bool   // a write has failed
	quit    chan struct{} // closed when all was added
	done    chan struct{} // closed when all is written
	failure error         // why the log stopped; read it after done

	written atomic.Int64 // lines that the system has
}

// Options of a Log.
type Options struct {
	Parts int          // producers, each with its own number 0 … Parts−1
	Clock *pacer.Clock // the clock of all results; times are written by the Redis clock
	Steps []string     // the names of the steps of the workload, by index; nil = it has none

	// Trace appends the id of the trace of a request. nil = there is none.
	Trace func(b []byte, number uint64) []byte
	// Stopped is called once if a write fails, from another goroutine; nil = nobody listens.
	Stopped func(error)
}

// A Sum says what became of the requests that were added.
type Sum struct {
	Path             string
	Started          bool
	Written, LeftOut int64
	Failure          error // why the log stopped early; nil = it did not
}

// Create makes the file. Its ending is the format: .jsonl or .csv, also with .zst behind it. A file that is there already
// is an error, because it may be the only log of another run. An error is one line that says what to do.
func Create(path string) (*Log, error) {
	f, err := formatOf(path)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // less what the umask takes, as any file
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, errors.New("is there already; give the path of a new file, or remove it")
	case err != nil:
		return nil, fmt.Errorf("%w; give a new file in a directory that is there and can be written to", err)
	}
	return &Log{path: path, format: f, file: file}, nil
}

// Start begins to take requests.
func (l *Log) Start(o Options) {
	l.options, l.quit, l.done = o, make(chan struct{}), make(chan struct{})
	size := 4096
	for size*2*o.Parts <= mostWaiting {
		size *= 2
	}
	for range o.Parts {
		l.rings = append(l.rings, newRing(size))
	}
	go l.write()
}

// Add takes a request that has ended. Only one goroutine may call it with a part.
func (l *Log) Add(part int, r targets.Result) {
	ring := l.rings[part]
	if l.stopped.Load() {
		ring.leave()
		return
	}
	ring.add(&r, l.options.Clock)
}

// Close writes what is left, and says what became of all. It removes the file of a log that was not started. A file
// system that hangs is left to itself after some seconds; what it has not taken then counts as left out.
func (l *Log) Close() Sum {
	sum := Sum{Path: l.path}
	if l.quit == nil {
		if c, ok := l.file.(io.Closer); ok {
			_ = c.Close()
			_ = os.Remove(l.path) // it is empty
		}
		return sum
	}
	sum.Started = true
	close(l.quit)
	select {
	case <-l.done:
		sum.Failure = l.failure
	case <-time.After(closePatience):
		sum.Failure = errors.New("the file system does not take it in time")
	}
	var added int64
	for _, r := range l.rings {
		added += r.added()
	}
	sum.Written = l.written.Load()
	sum.LeftOut = added - sum.Written
	return sum
}

// write is the goroutine that writes, until all is written or a write fails.
func (l *Log) write() {
	defer close(l.done)
	p := page{log: l, buffer: make([]byte, 0, pageBytes+longLine)}
	err := p.begin()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	flushed := time.Now()
	for last := false; err == nil && !last; {
		last = l.wait(look.C, p.took >= mostWaiting/8)
		if err = p.take(); err == nil && (last || time.Since(flushed) >= flushEvery) {
			flushed, err = time.Now(), p.flush()
		}
	}
	if c, ok := l.file.(io.Closer); ok {
		if bad := c.Close(); err == nil {
			err = bare(bad)
		}
	}
	if err == nil {
		return
	}
	l.failure = err
	l.stopped.Store(true)
	if l.options.Stopped != nil {
		l.options.Stopped(err)
	}
}

// wait waits for the next look, which comes at once if many requests wait. It reports whether all was added, so that this
// look finds all.
func (l *Log) wait(look <-chan time.Time, busy bool) (last bool) {
	if busy {
		select {
		case <-l.quit:
			return true
		default:
			return false
		}
	}
	select {
	case <-l.quit:
		return true
	case <-look:
		return false
	}
}

// bare returns an error without the name of the file, which the reader knows.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if errors.Is(err, syscall.ENOSPC) {
		return errors.New("no space left on the device")
	}
	return err
}
