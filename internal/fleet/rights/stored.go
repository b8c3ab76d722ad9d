package rights

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/loadctl/loadctl/internal/fleet/reserve"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/lua"
)

// held is the run's right at one host, as it is stored: the text of all of them is what lua/right.lua compares.
type held struct {
	Host    string
	Who     string // created the run, user@host
	Right   reserve.Right
	Raised  int64 // when the right got its version, µs of the run's clock
	Budgets []reserve.Budget
}

// stored is what a run has of its rights, and what bounds them. Times are µs of the run's clock, rates are slots per
// 1,000,000 s.
type stored struct {
	status   string // OK, RETRY or NOSTATE
	now      int64
	identity string // of the server
	text     string // "" = the run needs no rights
	held     []held
	allow    int64
	ends     int64 // 0 = the rights are to be verified
	peak     int64 // by the laws and their plans
	high     int64 // that a worker may still go by
	settled  bool  // high is exact
	frozen   bool
	over     bool
	top      int64 // the highest factor that a guard may raise its newest plan to, millionths
	plan     int64 // the highest rate by that plan at that factor
	burst    int64
}

// call calls lua/right.lua.
func call(ctx context.Context, r *run.Run, args ...any) (stored, error) {
	args = append([]any{r.UID, r.Keys.Control}, args...)
	reply, err := lua.Right().Run(ctx, r.Client, r.Keys.Change(), args...).StringSlice()
	if err != nil {
		return stored{}, run.Explain("read the rights of run", r.Name, err)
	}
	if len(reply) == 3 {
		reply = append(reply, make([]string, 11)...)
	}
	if len(reply) != 14 {
		return stored{}, fmt.Errorf("read the rights of run %s: the answer has %d parts; use the same version of loadctl and loadworker", r.Name, len(reply))
	}
	n := func(i int) int64 { x, _ := strconv.ParseInt(reply[i], 10, 64); return x }
	s := stored{status: reply[0], now: n(1), identity: reply[2], text: reply[3], allow: n(4), ends: n(5), peak: n(6), high: n(7),
		settled: n(8) == 1, frozen: n(9) > 0, over: n(10) == 1, top: n(11), plan: n(12), burst: n(13)}
	if s.text != "" {
		if err := json.Unmarshal([]byte(s.text), &s.held); err != nil {
			return stored{}, fmt.Errorf("read the rights of run %s: they cannot be read; use the same version of loadctl and loadworker", r.Name)
		}
	}
	return s, nil
}

func read(ctx context.Context, r *run.Run) (stored, error) { return call(ctx, r, "read", run.Who()) }

// store replaces what was read, unless something has changed since. kind is store, or lower: only if no worker can go by
// a higher rate.
func (k Keeper) store(ctx context.Context, was stored, kind string, hold []held, tell bool) (stored, error) {
	text, b := packed(hold), k.bound(was, hold)
	return call(ctx, k.Run, kind, run.Who(), was.identity, was.text, text, b.allow, b.ends, was.now+latest, number(b.frozen), number(tell))
}

// latest is how long after a reading what follows from it may be stored, µs: until the row may be over.
const latest = reserve.TTL - reserve.Margin

func packed(hold []held) string {
	text, _ := json.Marshal(hold) // of strings, numbers and flags
	return string(text)
}

func number(on bool) int {
	if on {
		return 1
	}
	return 0
}
