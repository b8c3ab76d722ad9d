//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/targets"
)

// A throng is a crowd of thousands: it is also commanded and read, and in the end its Redis stands still for a second. A core does not carry thousands of
// engines. So each worker has a Renewer and a Journal, and a connection, and calls at its natural pace; but it sends nothing, and publishes what it might
// have sent.
type throng struct {
	crowd
	rate    int64
	changes int    // commands of each kind
	loadctl string // the program that reads
	heard   heard
	failed  chan error
	all     sync.WaitGroup
}

// thronged is what a throng tells. Times are in seconds.
type thronged struct {
	crowded
	Begins  float64      `json:"begins"` // until the last worker was there, from the first on
	SetRate float64      `json:"setrate"`
	Pause   float64      `json:"pause"` // until the last worker had it
	Status  float64      `json:"status"`
	Watch   float64      `json:"watch"` // until its first line
	Report  float64      `json:"report"`
	Steady  report.Audit `json:"steady"`
	Frozen  float64      `json:"frozen"` // until each worker was answered, after Redis had stood still for a second
	Stop    float64      `json:"stop"`
	Memory  float64      `json:"memory"` // of Redis, MB
	Sum     report.Audit `json:"sum"`
}

// The bounds of a throng.
const (
	joining      = 64               // workers connect at a time
	joinPatience = 90 * time.Second // until all are there
	hearPatience = 30 * time.Second // of a command, or of the end of an outage
)

// heard is what all workers have been told.
type heard struct {
	mu       sync.Mutex
	have     map[int64]int // workers by newest law
	last     map[int64]time.Time
	answered map[int]bool // workers, since forget
}

// law notes that a worker has this law, which it had not before.
func (h *heard) law(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.have[id]++
	h.last[id] = time.Now()
}

// reply notes that a worker was answered.
func (h *heard) reply(worker int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered[worker] = true
}

// forget begins to count anew who was answered.
func (h *heard) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.answered)
}

// count is how many workers were answered since forget.
func (h *heard) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.answered)
}

// newest is the highest law that some worker has.
func (h *heard) newest() (id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for have := range h.have {
		id = max(id, have)
	}
	return id
}

// after is at what time the last of n workers heard of a law that is newer than another one.
func (h *heard) after(id int64, n int) (time.Time, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for newer, have := range h.have {
		if newer > id && have >= n {
			return h.last[newer], true
		}
	}
	return time.Time{}, false
}

func newThrong() *throng {
	return &throng{heard: heard{have: map[int64]int{}, last: map[int64]time.Time{}, answered: map[int]bool{}}}
}

// throngPart is the process.
func throngPart(args []string) error {
	t := newThrong()
	flags := flag.NewFlagSet("throng", flag.ContinueOnError)
	flags.StringVar(&t.redis, "redis", "", "")
	flags.IntVar(&t.server, "server", 0, "")
	flags.StringVar(&t.name, "run", "bench", "")
	flags.IntVar(&t.workers, "workers", 1000, "")
	flags.BoolVar(&t.silent, "silent", false, "")
	flags.Int64Var(&t.rate, "rate", 10_000, "")
	flags.DurationVar(&t.lasting, "for", 10*time.Second, "")
	flags.DurationVar(&t.warm, "warm", 5*time.Second, "")
	flags.IntVar(&t.changes, "changes", 5, "")
	flags.StringVar(&t.loadctl, "loadctl", "loadctl", "")
	if err := errors.Join(flags.Parse(args), raiseDescriptors()); err != nil {
		return err
	}
	ctx := context.Background()
	client, err := run.Connect(ctx, t.redis)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // the process ends
	said, err := t.run(ctx, client)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}

// run is the life of the throng.
func (t *throng) run(ctx context.Context, client redis.UniversalClient) (said thronged, err error) {
	r, _, err := run.Create(ctx, client, t.name, run.Spec{
		Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(t.rate), MaxLag: time.Second, CatchUp: time.Second, MinWorkers: int64(t.workers),
	}, run.Options{})
	if err != nil {
		return said, err
	}
	began := time.Now()
	var started atomic.Int64
	t.start(ctx, r, &started)
	limit, cancel := context.WithTimeoutCause(ctx, joinPatience, fmt.Errorf("not all of %d workers were there after %v: this machine cannot carry them", t.workers, joinPatience))
	defer cancel()
	if err := begun(limit, r, &started, t.failed); err != nil {
		return said, errors.Join(context.Cause(limit), err)
	}
	said.Begins = time.Since(began).Seconds()
	if err := t.measure(ctx, client, r, &started, &said); err != nil {
		return said, err
	}
	stopped := time.Now()
	if _, err := r.Stop(ctx, nil); err != nil {
		return said, err
	}
	said.Stop = time.Since(stopped).Seconds()
	t.all.Wait()
	close(t.failed)
	last, err := t.report()
	said.Sum = last.Audit
	return said, errors.Join(err, <-t.failed)
}

// start lets all workers take part, some of them connecting at a time.
func (t *throng) start(ctx context.Context, r *run.Run, started *atomic.Int64) {
	t.failed = make(chan error, t.workers)
	room := make(chan struct{}, joining)
	for i := range t.workers {
		room <- struct{}{}
		t.all.Go(func() {
			joined := sync.OnceFunc(func() { <-room })
			defer joined()
			if err := t.member(ctx, r, i, started, joined); err != nil {
				t.failed <- err
			}
		})
	}
}

// member is a worker until the run is stopped. It calls joined when it was answered.
func (t *throng) member(ctx context.Context, r *run.Run, i int, started *atomic.Int64, joined func()) error {
	name, incarnation := fmt.Sprint("w", i), run.NewID()
	link, err := run.ConnectLink(ctx, t.redis, "bench:"+r.Name+":"+name)
	if err != nil {
		return err
	}
	defer link.Close() //nolint:errcheck // the run is over
	mine, err := run.Open(ctx, link.Client, r.Name)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	known := int64(0)
	var mu sync.Mutex // of known: replies and messages
	learn := func(laws []lease.Law) {
		mu.Lock()
		defer mu.Unlock()
		if n := len(laws); n > 0 && laws[n-1].ID > known {
			known = laws[n-1].ID
			t.heard.law(known)
		}
	}
	idle := &idler{clock: pacer.NewClock(), changed: make(chan struct{}, 1)}
	var beat chan struct{} // there is none for who publishes nothing
	if !t.silent {
		beat = make(chan struct{}, 1)
		go t.publish(watching, mine.Journal(name, incarnation), report.NewSnapshot(name, incarnation), i, started, beat)
	}
	renewer := lease.Renewer{
		Server: mine.Arcs(link.Client), Sink: idle, Clock: idle.clock, Worker: name, Incarnation: incarnation, Changed: idle.changed, Beat: beat,
		Messages: tapped(watching, run.Messages(watching, link.Messages(), link.WakeupsOf(watching, mine, name)), func(m lease.Message) { learn(m.Laws) }),
		Observe: func(reply lease.Reply, _ *lease.View) {
			joined()
			t.heard.reply(i)
			learn(reply.Laws)
		},
	}
	if err := renewer.Run(ctx); !errors.Is(err, pacer.ErrStopped) {
		return fmt.Errorf("worker %s: %w", name, err)
	}
	_, reached := idle.Taken()
	return renewer.Leave(ctx, reached)
}

// tapped are the same messages, after each was told.
func tapped(ctx context.Context, in <-chan lease.Message, told func(lease.Message)) <-chan lease.Message {
	out := make(chan lease.Message)
	go func() {
		for {
			select {
			case m := <-in:
				told(m)
				select {
				case out <- m:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// idler is a Sink that sends nothing.
type idler struct {
	clock   *pacer.Clock
	version atomic.Int64
	changed chan struct{}
}

// Take implements lease.Sink.
func (s *idler) Take(v *lease.View) {
	s.version.Store(int64(v.Version))
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Taken implements lease.Sink.
func (s *idler) Taken() (version int, reached int64) {
	return int(s.version.Load()), s.clock.Redis(s.clock.Now()) / 1000
}

// publish publishes at the pace of a worker's publisher what worker i might have sent, until ctx ends.
func (t *throng) publish(ctx context.Context, journal *run.Journal, total *report.Snapshot, i int, started *atomic.Int64, beat chan<- struct{}) {
	n := int64(t.workers)
	period, share := report.SnapshotPeriod(n), report.SnapshotSpread(n)*time.Duration(i)/time.Duration(n)
	recorder, interval := report.NewRecorder(), report.NewSnapshot(total.Worker, total.Incarnation)
	var series report.Series
	for {
		since := time.Since(time.UnixMicro(started.Load()))
		if started.Load() == 0 || since < 0 {
			since = period - 100*time.Millisecond - share
		}
		select {
		case <-time.After(share + period - since%period):
		case <-ctx.Done():
			return
		}
		if started.Load() == 0 {
			continue
		}
		recorder.Reset()
		interval.Reset()
		total.Seq++
		interval.Seq, interval.Start, interval.End = total.Seq, total.End, time.Now().UnixMicro()
		for j := range max(1, t.rate*int64(period)/int64(time.Second)/n) {
			lag := 20_000 + (j+int64(i))*7919%80_000
			recorder.Sent()
			recorder.Done(report.Sample{Sent: lag, Done: lag + 100_000 + j*j*7919%400_000, Status: 200, BytesIn: 120, BytesOut: 60})
		}
		interval.Record(recorder)
		total.Merge(interval)
		series.Add(int64(since/time.Microsecond), interval)
		select {
		case beat <- struct{}{}:
		default: // the last one was not heard yet
		}
		limit, cancel := context.WithTimeout(ctx, time.Second)
		_ = journal.Publish(limit, interval, total, &series) // the next one brings it
		cancel()
	}
}

// measure is all that is measured while the run goes on.
func (t *throng) measure(ctx context.Context, client redis.UniversalClient, r *run.Run, started *atomic.Int64, said *thronged) (err error) {
	if said.crowded, err = t.look(ctx, client, time.UnixMicro(started.Load()).Add(t.warm)); err != nil {
		return err
	}
	if said.Memory, err = held(ctx, client); err != nil {
		return err
	}
	if said.Status, err = t.reads("status"); err != nil {
		return err
	}
	if said.Watch, err = t.watches(); err != nil {
		return err
	}
	before := time.Now()
	steady, err := t.report()
	if err != nil {
		return err
	}
	said.Report, said.Steady = time.Since(before).Seconds(), steady.Audit
	var set, paused values
	for i := range int64(t.changes) {
		if err := t.tell(&set, func() error { _, err := r.SetRate(ctx, pacer.PerSecond(t.rate+i+1), 0); return err }); err != nil {
			return err
		}
		if err := t.tell(&paused, func() error { _, err := r.Pause(ctx); return err }); err != nil {
			return err
		}
		if err := t.tell(nil, func() error { _, err := r.Resume(ctx); return err }); err != nil {
			return err
		}
	}
	said.SetRate, said.Pause = set.median(), paused.median()
	said.Frozen, err = t.freeze()
	return err
}

// tell gives a command and notes how long it takes until the last worker has it.
func (t *throng) tell(took *values, command func() error) error {
	before, began := t.heard.newest(), time.Now()
	if err := command(); err != nil {
		return err
	}
	for {
		last, all := t.heard.after(before, t.workers)
		switch {
		case all:
			if took != nil {
				*took = append(*took, last.Sub(began).Seconds())
			}
			time.Sleep(time.Second) // what follows from it is over
			return nil
		case time.Since(began) > hearPatience:
			return fmt.Errorf("not all workers have heard of a command after %v", hearPatience)
		}
		time.Sleep(time.Millisecond)
	}
}

// freeze stops Redis for a second and waits until each worker was answered again.
func (t *throng) freeze() (float64, error) {
	if err := syscall.Kill(t.server, syscall.SIGSTOP); err != nil {
		return 0, err
	}
	time.Sleep(time.Second)
	if err := syscall.Kill(t.server, syscall.SIGCONT); err != nil {
		return 0, err
	}
	t.heard.forget()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		took, n := time.Since(began), t.heard.count()
		switch {
		case n == t.workers:
			return took.Seconds(), nil
		case took > hearPatience:
			return 0, fmt.Errorf("%d workers were answered in %v after Redis had stood still for a second", n, hearPatience)
		}
	}
}

// reads is how long a command of loadctl takes.
func (t *throng) reads(command string) (float64, error) {
	began := time.Now()
	_, err := t.says(command)
	return time.Since(began).Seconds(), err
}

// says is what a command of loadctl prints.
func (t *throng) says(command string) ([]byte, error) {
	out, err := exec.Command(t.loadctl, command, t.name, "-o", "json", "--redis", t.redis).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("loadctl %s: %w: %s", command, err, exit.Stderr)
	}
	return out, err
}

// report is the run's, as far as it is known.
func (t *throng) report() (r report.Report, err error) {
	out, err := t.says("report")
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(out, &r)
}

// watches is how long loadctl watch takes until it shows how the run stands.
func (t *throng) watches() (float64, error) {
	cmd := exec.Command(t.loadctl, "watch", t.name, "--redis", t.redis)
	out, err := cmd.StderrPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "sent") {
		continue
	}
	took := time.Since(began).Seconds()
	_ = cmd.Process.Kill() // it would go on
	_ = cmd.Wait()
	return took, lines.Err()
}

// held is the memory that Redis uses, MB.
func held(ctx context.Context, client redis.UniversalClient) (float64, error) {
	info, err := client.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	var bytes float64
	_, err = fmt.Sscan(info["Memory"]["used_memory"], &bytes)
	return bytes / 1e6, err
}
