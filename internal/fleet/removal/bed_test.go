package removal

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/lease"
	"github.com/loadctl/loadctl/targets"
)

// constant is a spec of qps without end.
func constant(qps int64) spec.Spec {
	return spec.Spec{Target: targets.Spec{URL: "noop://"}, QPS: pacer.PerSecond(qps), MaxLag: spec.DefaultMaxLag, CatchUp: spec.DefaultCatchUp, MinWorkers: 1}
}

// permitted is constant, with leases of so long.
func permitted(qps int64, permit time.Duration) spec.Spec {
	s := constant(qps)
	s.PermitFor = permit
	return s
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

func (b *bed) create(s spec.Spec) *run.Run {
	b.Helper()
	r, _, err := run.Create(b.Context(), b.client, "x", s, run.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func (b *bed) state(r *run.Run) *run.State {
	b.Helper()
	s, err := r.State(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func (b *bed) events(r *run.Run) string {
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

// wants checks an error: it wraps is, is one line, and contains these texts.
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
	if strings.Contains(err.Error(), "\n") {
		b.Errorf("%q is more than one line", err)
	}
}

// member is a worker that renews and sends nothing.
type member struct {
	*bed
	run    *run.Run
	server *run.Leases
	holder *lease.Holder
}

func (b *bed) member(r *run.Run, id string) *member {
	return &member{bed: b, run: r, server: r.Leases(b.client), holder: lease.NewHolder(id, "inc"+id, 1)}
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

// halt reports to Redis that the worker has stopped sending.
func (m *member) halt() {
	m.Helper()
	m.holder.Halt(m.state(m.run).Now().UnixMicro())
	await.True(m, "its leave", func() bool { return m.renew().Status == lease.Gone })
}
