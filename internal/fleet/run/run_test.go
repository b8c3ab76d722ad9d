package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/targets"
)

// secrets are the strings in secretSpec that no message may show.
func secrets() []string { return []string{"hunter2", "hunter3", "hunter4"} }

func secretSpec() spec.Spec {
	s := constant(100)
	s.Target.URL = "http://user:hunter2@127.0.0.1:8080/"
	s.Target.Headers = []targets.Header{{Name: "Authorization", Value: "Bearer hunter3"}}
	s.Target.Body = []byte("hunter4")
	return s
}

// constant is a spec of qps without end.
func constant(qps int64) spec.Spec {
	return spec.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(qps), MaxLag: spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp, MinWorkers: 1}
}

// bed is a private Redis.
type bed struct {
	*testing.T
	client rdb.Client
}

// each runs a test on a real and on an embedded server.
func each(t *testing.T, test func(t *testing.T, b *bed)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, client rdb.Client) { test(t, &bed{T: t, client: client}) })
}

// newBed returns a real server, for tests of what only a real server can do.
func newBed(t *testing.T) *bed {
	t.Helper()
	t.Parallel()
	return &bed{T: t, client: redistest.Start(t).Client()}
}

func (b *bed) create(name string, s spec.Spec, o Options) (r *Run, created bool) {
	b.Helper()
	r, created, err := Create(b.Context(), b.client, name, s, o)
	if err != nil {
		b.Fatal(err)
	}
	return r, created
}

func (b *bed) state(r *Run) *State {
	b.Helper()
	s, err := r.State(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// core is the numbers of the run's budget by their names.
func (b *bed) core(r *Run) map[string]int64 {
	b.Helper()
	fields, err := lua.Core(b.client.HGet(b.Context(), r.Keys.Budget, "core").Val())
	if err != nil {
		b.Fatal(err)
	}
	numbers := map[string]int64{}
	for name, value := range fields {
		if numbers[name], err = strconv.ParseInt(value, 10, 64); err != nil {
			b.Fatal(err)
		}
	}
	return numbers
}

// must returns the result of a method that changes a Run, or fails the test.
func (b *bed) must(c Change, err error) Change {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// soon checks, in acceptance only, that something did not take longer than it may.
func (b *bed) soon(what string, took, most time.Duration) {
	b.Helper()
	await.Soon(b, what, took, most)
}

// member is a worker that renews and sends nothing.
type member struct {
	*bed
	run    *Run
	id     string
	server *Leases
	holder *lease.Holder
}

func (b *bed) member(r *Run, id string) *member {
	return &member{bed: b, run: r, id: id, server: r.Leases(b.client), holder: lease.NewHolder(id, "inc"+id, 1)}
}

// renew makes a call, and a second one if the server asks for it. It gives up what it must.
func (m *member) renew() lease.Reply {
	m.Helper()
	for {
		reply, err := m.server.Renew(m.Context(), m.holder.Call())
		if err != nil {
			m.Fatal(err)
		}
		again := m.holder.Receive(reply.Now, reply)
		m.holder.Agreed(m.holder.View().Version, reply.Now, 0)
		if !again {
			return reply
		}
	}
}

// start renews until the schedule has begun.
func (m *member) start() *member {
	m.Helper()
	await.True(m, "the first t0", func() bool {
		m.renew()
		s := m.state(m.run)
		return !s.StartedAt.IsZero() && s.Now().After(s.StartedAt)
	})
	return m
}

// over renews until the run has ended, and leaves.
func (m *member) over() {
	m.Helper()
	await.True(m, "the end of the run", func() bool { m.renew(); return !m.state(m.run).EndedAt.IsZero() })
	m.halt()
}

// halt reports to Redis that the worker has stopped sending.
func (m *member) halt() {
	m.Helper()
	m.holder.Halt(m.state(m.run).Now().UnixMicro())
	await.True(m, "its leave", func() bool { return m.renew().Status == lease.Gone })
}

// owned returns how many slots the worker has owned so far.
func (m *member) owned() int64 {
	m.Helper()
	for _, w := range m.state(m.run).Workers {
		if w.ID == m.id && w.State != "replaced" {
			return w.Owned
		}
	}
	m.Fatalf("there is no worker %s", m.id)
	return 0
}

// dump is everything in Redis, by key.
func (b *bed) dump() map[string]string {
	b.Helper()
	return redistest.Contents(b, b.client)
}

// wants checks an error: it wraps is, is one line, contains these texts, and shows no secret.
func (b *bed) wants(err, is error, says ...string) {
	b.Helper()
	if err == nil || is != nil && !errors.Is(err, is) {
		b.Fatalf("error %v, want one that is %v", err, is)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			b.Errorf("%q does not say %q", err, text)
		}
	}
	for _, secret := range append(secrets(), "\n") {
		if strings.Contains(err.Error(), secret) {
			b.Errorf("%q shows %q", err, secret)
		}
	}
}

func (b *bed) events(r *Run) string {
	b.Helper()
	events, err := r.Events(b.Context(), 1000)
	if err != nil {
		b.Fatal(err)
	}
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	return fmt.Sprint(kinds)
}

// hooked opens the run with a client of its own that has a hook.
func (b *bed) hooked(r *Run, hook redis.Hook) *Run {
	own := redistest.Another(b, b.client)
	b.Cleanup(func() { own.Close() })
	own.AddHook(hook)
	return r.WithClient(own)
}

// seen is called with each call that was answered.
type seen func(redis.Cmder)

func (s seen) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s seen) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s seen) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		s(cmd)
		return err
	}
}

// stop stops the run. These workers confirm it.
func (b *bed) stop(r *Run, workers ...*member) {
	b.Helper()
	if _, err := r.Abort(b.Context(), ""); err != nil {
		b.Fatal(err)
	}
	await.True(b, "the stop", func() bool { s := b.state(r); return !s.EndedAt.IsZero() && s.Now().After(s.EndedAt) })
	for _, w := range workers {
		w.halt()
	}
}

// missed reports whether a worker may be removed: it has missed its calls.
func (b *bed) missed(r *Run, id string) bool {
	b.Helper()
	s := b.state(r)
	return slices.ContainsFunc(s.Workers, func(w Worker) bool { return w.ID == id && s.now.Sub(w.LastSeen) >= s.Missed() })
}

// remove takes a worker out of the run when it has missed its calls, as package removal does.
func (b *bed) remove(r *Run, id string) {
	b.Helper()
	await.True(b, "its silence", func() bool { return b.missed(r, id) })
	status, err := lua.Remove().Run(b.Context(), b.client, r.Keys.Change(), r.UID, r.Keys.Control, id, Who()).Text()
	if err != nil || status != "OK" {
		b.Fatalf("remove %s: %s, %v", id, status, err)
	}
}

// losing is a spec with settings for a lost Redis or controller.
func losing(loss string, permit, deadman time.Duration) spec.Spec {
	s := constant(100)
	s.OnRedisLoss, s.PermitFor, s.Deadman = loss, permit, deadman
	return s
}

// closed is the spec of a closed loop.
func closed(d time.Duration) spec.Spec {
	s := constant(0)
	s.Max, s.Duration = true, d
	return s
}

// limited is a spec at a rate with a limiter.
func limited(rate, limiter string, set func(*spec.Spec)) spec.Spec {
	s := constant(0)
	if err := s.QPS.UnmarshalText([]byte(rate)); err != nil {
		panic(err)
	}
	s.Limiter = limiter
	if set != nil {
		set(&s)
	}
	return s
}

// known is what a member knows of r: when it started, and its laws.
func (b *bed) known(r *Run, m *member) (started int64, laws []lease.Law) {
	b.Helper()
	started, err := r.StartedAt(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	m.renew()
	return started, m.holder.View().Laws.All()
}

func (b *bed) lose() {
	b.Helper()
	if err := b.client.FlushAll(b.Context()).Err(); err != nil {
		b.Fatal(err)
	}
}

func (b *bed) restore(r *Run, started int64, laws []lease.Law) {
	b.Helper()
	if err := r.Restore(b.Context(), started, laws, true); err != nil {
		b.Fatal(err)
	}
}

// permitted is constant, with leases of a second.
func permitted(qps int64) spec.Spec {
	s := constant(qps)
	s.PermitFor = time.Second
	return s
}

// failover makes the server look like another one, to the run and its workers.
func (b *bed) failover(r *Run) {
	b.Helper()
	if err := b.client.HSet(b.Context(), r.Keys.Budget, "epoch", "another.1").Err(); err != nil {
		b.Fatal(err)
	}
}
