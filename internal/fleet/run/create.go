package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/loadctl/loadctl/internal/fleet/link"
	"github.com/loadctl/loadctl/internal/fleet/rdb"
	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/lua"
	"github.com/loadctl/loadctl/pacer/lease"
)

// The errors about a run.
var (
	ErrNoRun   = errors.New("there is no such run")
	ErrOver    = errors.New("the run is over")
	ErrWaiting = errors.New("the run has not begun, it waits for its workers; loadctl start begins it with the present workers, loadctl stop ends it")
)

// Explain adds to a Redis error about a run what to do.
func Explain(what, name string, err error) error {
	_, mend := link.Remedy(err)
	switch {
	case errors.Is(err, spec.ErrBroken): // it says so itself
		return err
	// A script ended with an error. The embedded server says the latter.
	case mend == "" && (strings.Contains(err.Error(), "user_script:") || strings.Contains(err.Error(), "Error compiling script")):
		return spec.Broken(name, "a script cannot read it")
	case strings.Contains(err.Error(), "WRONGTYPE"): // some servers put their own words in front
		return spec.Broken(name, "one of its keys holds something else")
	case link.Unanswered(err):
		return fmt.Errorf("%s %s: %w; Redis does not answer; check that it is running", what, name, err)
	default:
		return link.Advise(fmt.Errorf("%s %s: %w", what, name, err))
	}
}

// DifferentError says that a run of this name has another spec.
type DifferentError struct {
	Name  string
	Lines []string // the differences
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("run %s exists with another spec (%s); take another name, or --new once it has ended",
		e.Name, strings.Join(e.Lines, "; "))
}

// Run is a handle on a run in Redis. It is safe for concurrent use.
type Run struct {
	Name string
	UID  string
	Spec spec.Spec
	// Phase is as in State, at the time when the handle was made.
	Phase string
	// Ended is when the run was over, as known when the handle was made; zero = it was not over.
	Ended time.Time
	// Unlisted is why the list of runs could not be written when the run was created or joined by its description.
	// nil = the run is listed, or it is over. The run does not need the list. Later, a process that starts it, joins
	// it or publishes lists it.
	Unlisted error

	Client rdb.Client
	Keys   Keys
	keep   time.Duration           // as the run was created with; 0 = unknown
	rights *atomic.Pointer[string] // the newest that this process knows, to restore them; nil = none was received
}

// Options are the settings of Create.
type Options struct {
	By  string // program and version that creates the run, for the report; "" = unknown
	New bool   // replace a run of this name that has ended
	// Make makes the state of a run that needs a right to send: it gets the right, and calls the Maker. nil = the run needs none.
	Make func(context.Context, *Run, Maker) error
	Keep time.Duration // how long the state outlives the last contact; 0 = DefaultKeep
}

// DefaultKeep is how long a run's keys live without any contact.
const DefaultKeep = 7 * 24 * time.Hour

// Create creates the run, or joins the run of this name if its spec is the same. Of many callers one creates. A
// *DifferentError lists how the specs differ.
func Create(ctx context.Context, client rdb.Client, name string, asked spec.Spec, o Options) (r *Run, created bool, err error) {
	if err := ValidateNewName(name); err != nil {
		return nil, false, err
	}
	asked.CreatedBy = o.By
	text, err := asked.Encode()
	if err != nil {
		return nil, false, err
	}
	replace := 0
	if o.New {
		replace = 1
	}
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if err := writable(ctx, client, name); err != nil {
		return nil, false, Explain("create run", name, err)
	}
	keys := KeysOf(name)
	maker := &Run{Name: name, UID: NewID(), Spec: asked, Client: client, Keys: keys}
	reply, err := maker.makeNew(ctx, text, replace, o)
	if err != nil {
		err = Explain("create run", name, err)
		if errors.Is(err, spec.ErrBroken) { // the script only knows the state of this version
			if _, other := Open(ctx, client, name); errors.Is(other, spec.ErrOlder) || errors.Is(other, spec.ErrNewer) {
				err = other
			}
		}
		return nil, false, err
	}
	r, err = handle(client, name, reply)
	if err != nil {
		return nil, false, err
	}
	if err := r.setPhase(ctx); err != nil {
		return nil, false, err
	}
	created = reply[0] == "CREATED"
	if lines := r.Spec.Diff(asked); !created && len(lines) > 0 {
		return nil, false, &DifferentError{Name: name, Lines: lines}
	}
	if !created && r.Ended.IsZero() {
		if err := r.CheckKeys(ctx); err != nil {
			return nil, false, err
		}
		kept, err := client.HGet(ctx, keys.Budget, "keep").Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, false, Explain("join run", name, err)
		}
		r.keep = lifetime(kept)
	}
	if created {
		r.keep = o.Keep
		r.Unlisted = unwritten(r.list(ctx))
	} else {
		r.Unlisted = unwritten(r.Relist(ctx))
	}
	return r, created, nil
}

// Lifetime returns how long keys of the run live without any contact.
func (r *Run) Lifetime() time.Duration { return cmp.Or(r.keep, DefaultKeep) }

// handle makes a Run from the reply of the make script.
func handle(client rdb.Client, name string, reply []string) (*Run, error) {
	if len(reply) != 3 || reply[0] == "BROKEN" {
		return nil, spec.Broken(name, "a part of it is missing")
	}
	asked, err := spec.Parse(name, reply[1])
	if err != nil {
		return nil, err
	}
	return &Run{Name: name, UID: reply[2], Spec: asked, Client: client, Keys: KeysOf(name), rights: new(atomic.Pointer[string])}, nil
}

// Open returns the run of this name, or ErrNoRun.
func Open(ctx context.Context, client rdb.Client, name string) (*Run, error) {
	r, err := named(ctx, client, name)
	if err != nil {
		return nil, err
	}
	return r, r.setPhase(ctx)
}

// named is Open without the phase, for a run whose state may be damaged.
func named(ctx context.Context, client rdb.Client, name string) (*Run, error) {
	if err := ValidateName("run", name); err != nil {
		return nil, err
	}
	text, fields, err := described(ctx, client, KeysOf(name))
	if err != nil {
		return nil, Explain("open run", name, err)
	}
	reply, kept := []string{"EXISTS", text.Val(), ""}, ""
	for i, to := range []*string{&reply[2], &kept} {
		if s, ok := fields[i].(string); ok {
			*to = s
		}
	}
	missing := errors.Is(text.Err(), redis.Nil)
	switch {
	case missing && reply[2] == "":
		return nil, fmt.Errorf("run %s: %w; loadctl ls lists the runs", name, ErrNoRun)
	case missing || reply[2] == "":
		reply[0] = "BROKEN"
	}
	r, err := handle(client, name, reply)
	if err != nil {
		return nil, err
	}
	r.keep = lifetime(kept)
	return r, nil
}

// setPhase finds out the phase, which is not stored, and what a worker must know to restore the run.
func (r *Run) setPhase(ctx context.Context) error {
	r.readRights(ctx)
	s, err := r.read(ctx, readPhase)
	if err == nil {
		r.Phase, r.Ended = s.Phase, s.EndedAt
	}
	return err
}

// lifetime returns how long the state outlives the last contact, from its budget; 0 = it cannot be read.
func lifetime(kept string) time.Duration {
	ms, _ := strconv.ParseInt(kept, 10, 64)
	return max(0, time.Duration(ms)*time.Millisecond)
}

// described returns a run's spec and the fields uid and keep of its budget, nil if they are missing. It uses no
// transaction, which a full server refuses. It reads the uid twice to check that all belongs to one run.
func described(ctx context.Context, client rdb.Client, keys Keys) (*redis.StringCmd, []any, error) {
	for {
		var text *redis.StringCmd
		var budget, again *redis.SliceCmd
		_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			budget = p.HMGet(ctx, keys.Budget, "uid", "keep")
			text = p.Get(ctx, keys.Spec)
			again = p.HMGet(ctx, keys.Budget, "uid")
			return nil
		})
		if errors.Is(err, redis.Nil) { // Pipelined returns the first error: that of a missing spec hides a later one
			err = cmp.Or(budget.Err(), again.Err())
		}
		if err != nil {
			return nil, nil, err
		}
		if budget.Val()[0] == again.Val()[0] {
			return text, budget.Val(), nil
		}
	}
}

// NewID returns a random name for a run, a process or a command.
func NewID() string {
	b := make([]byte, 8)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// Who returns user@host, for the event stream.
func Who() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// makeState makes the state of a run, or finds the existing one. laws are what a worker knows of a run that Redis has
// lost. The reply is that of the make script.
func (r *Run) makeState(ctx context.Context, client rdb.Client, asked spec.Spec, text string, replace int, keep time.Duration, right Reserved, laws []lease.Law) ([]string, error) {
	p, err := asked.Plan()
	if err != nil {
		return nil, err
	}
	limit := ""
	if asked.HasLimiter() {
		limit = asked.LimiterConfig()
	}
	known, plans := lease.PackLaws(laws)
	args := []any{text, r.UID, replace, keep.Milliseconds(), Who(), (&lease.Plan{Pieces: p.Pieces, Loop: p.Loop}).String(),
		asked.Hold().Microseconds(), p.Min, p.Span.Microseconds(), max(0, p.Left), asked.Deadman.Microseconds(), p.Seed, limit, r.Keys.Control,
		right.Rights, right.Allow, right.Ends, right.Identity, right.Latest, known}
	for _, plan := range plans {
		args = append(args, plan)
	}
	return lua.Make().Run(ctx, client, r.Keys.Make(), args...).StringSlice()
}
