package demo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/removal"
	"github.com/loadctl/loadctl/pacer"
)

const (
	length = 15 * time.Second
	// ahead is the time from a command until its change is in force: ahead in lua/laws.lua. Commands are given that
	// much earlier, so that changes fall on whole seconds, or just after.
	ahead = 20 * time.Millisecond
	// early makes the stop take effect just before the last second is over. Else the plot would have a row for a tiny
	// rest.
	early = 10 * time.Millisecond
	// aftermath is how many seconds may show a worker's death, including that of the kill.
	aftermath = 5
)

// first returns the workers that begin together.
func first() []string { return []string{"w1", "w2", "w3"} }

// step is something that happens to the run.
type step struct {
	at     time.Duration // when it is done, since the run's start
	says   string        // printed as it happens
	mark   string        // printed beside its second in the plot; "" if Redis knows the time better
	shakes bool          // the seconds after it are not steady
	do     func(ctx context.Context, s *stage) (time.Time, error)
}

// moment is when something happened.
type moment struct {
	at     time.Time
	mark   string
	step   bool // part of the story, rather than caused by this machine
	shakes bool
}

// story returns all that happens to a run that begins with qps requests per second.
func story(qps int64) []step {
	more, less := pacer.PerSecond(3*qps), pacer.PerSecond(qps/2)
	if qps%2 != 0 {
		less = pacer.Rate{Num: qps, Den: 2}
	}
	return []step{
		{
			at: -ahead, do: begins, mark: "w1 w2 w3 begin",
			says: fmt.Sprintf("w1, w2 and w3 begin at %s/s: all of them together, not each", show(pacer.PerSecond(qps))),
		},
		{
			at: 3*time.Second - ahead, do: setRate(more), mark: "set-rate " + show(more),
			says: fmt.Sprintf("set-rate %s: one command, and 20 ms later the whole fleet obeys it", show(more)),
		},
		{
			at: 6 * time.Second, do: kill("w2"), mark: "w2 killed", shakes: true,
			says: "w2 is killed (SIGKILL); loadctl workers rm says so, others take over",
		},
		{
			at: 9 * time.Second, do: join("w4"),
			says: "w4 joins: it takes its share of the rate, which stays what it is",
		},
		{
			at: 12*time.Second - ahead, do: setRate(less), mark: "set-rate " + show(less),
			says: fmt.Sprintf("set-rate %s: the whole fleet obeys it as fast", show(less)),
		},
		{
			at: length - ahead - early, do: stop, mark: "stop",
			says: "stop: when the command returns, nothing more is sent",
		},
	}
}

// show formats a rate for people.
func show(r pacer.Rate) string { return strconv.FormatFloat(r.Float(), 'f', -1, 64) }

// begins does nothing: the workers were waiting for this moment.
func begins(_ context.Context, s *stage) (time.Time, error) { return s.start, nil }

func setRate(to pacer.Rate) func(context.Context, *stage) (time.Time, error) {
	return func(ctx context.Context, s *stage) (time.Time, error) {
		change, err := s.run.SetRate(ctx, to, 0)
		return change.At, err
	}
}

// kill also declares the worker dead. Else the others would leave its share alone until its lease ends, because it
// might only be cut off.
func kill(id string) func(context.Context, *stage) (time.Time, error) {
	return func(ctx context.Context, s *stage) (time.Time, error) {
		at := time.Now()
		if err := s.fleet.kill(id); err != nil {
			return at, err
		}
		_, err := removal.Worker(ctx, s.run, id, true)
		return at, err
	}
}

func join(id string) func(context.Context, *stage) (time.Time, error) {
	return func(_ context.Context, s *stage) (time.Time, error) {
		at := time.Now()
		return at, s.fleet.start(id)
	}
}

func stop(ctx context.Context, s *stage) (time.Time, error) {
	s.fleet.dismiss()
	change, err := s.run.Stop(ctx, nil)
	return change.At, err
}

// play does the steps in time, shows the progress each second, and returns what happened when.
func (s *stage) play(ctx context.Context, steps []step) ([]moment, error) {
	type cue struct {
		at time.Duration
		do func() error
	}
	var moments []moment
	var cues []cue
	for _, st := range steps {
		cues = append(cues, cue{st.at, func() error {
			s.screen.heading("%4.0f s   %s", st.at.Round(time.Second).Seconds(), st.says)
			at, err := st.do(ctx, s)
			moments = append(moments, moment{at: at, mark: st.mark, step: true, shakes: st.shakes})
			return err
		}})
	}
	for at := time.Second; at < length; at += time.Second {
		cues = append(cues, cue{at, func() error { return s.tick(ctx, at) }})
	}
	slices.SortStableFunc(cues, func(a, b cue) int { return cmp.Compare(a.at, b.at) })
	for _, c := range cues {
		if err := sleep(ctx, s.start.Add(c.at)); err != nil {
			return nil, err
		}
		if err := c.do(); err != nil {
			return nil, err
		}
		if s.screen.err != nil {
			return nil, s.screen.failure()
		}
	}
	return moments, nil
}
