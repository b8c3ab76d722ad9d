package model

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/proof/redistest"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
	"github.com/loadctl/loadctl/pacer/lease"
)

var update = flag.Bool("update", false, "write the transcripts in testdata")

// epochOfTranscripts is the time 0s of a transcript, µs.
const epochOfTranscripts = 1_700_000_000_000_000

// TestTranscripts plays the files in testdata/transcripts, on the scripts and on the model at once. Each shows one
// story of the protocol. "# …" is prose. "TIME COMMAND …" is played, and indented lines below show what became of it:
//
//	make RATE MIN [HOLD] the run, which begins when MIN workers are there; a lease lasts for HOLD, 10s
//	W renew              worker W calls, as a new process if it has not called yet
//	W renew, reply lost  the server receives the call, and W receives no reply
//	W repeats            a late copy of W's last call arrives
//	W leaves, W restarts what W does before its next call
//	W halts              W sends nothing any more, and says so in its next call
//	set-rate RATE, pause, resume, stop
//	rm W                 an operator says that W is dead
//	copy                 a replica has all that the server knows at this time
//	failover             the replica is promoted: what came after the copy is forgotten
//	lost, W restores     Redis forgets all; W makes the run again
//	audit                who owned how many of the slots asked for so far
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	client := redistest.Start(t).Client()
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := newStory(t, newScripts(t, client, filepath.Base(path))).play(string(want))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s differs (go test -update writes it):\n%s", path, got)
			}
		})
	}
}

// story is a world whose calls are written down.
type story struct {
	world
	workers map[string]*lease.Holder
	starts  map[string]int
	last    map[string]lease.Call
	seen    []int64 // numbers of laws: a transcript calls them 1, 2, …
	out     strings.Builder
}

func newStory(t *testing.T, s *scripts) *story {
	return &story{world: world{t: t, s: s}, workers: map[string]*lease.Holder{}, starts: map[string]int{}, last: map[string]lease.Call{}}
}

// play is the text of a transcript with what its commands print now.
func (y *story) play(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "  "):
			continue
		case line == "" || line[0] == '#':
			fmt.Fprintln(&y.out, line)
		default:
			fmt.Fprintln(&y.out, line)
			at, command, _ := strings.Cut(line, " ")
			d, err := time.ParseDuration(at)
			if err != nil {
				y.t.Fatalf("%q: %v", line, err)
			}
			y.now = epochOfTranscripts + d.Microseconds()
			y.command(strings.TrimSpace(command))
			if y.r != nil {
				y.compare()
			}
		}
	}
	return y.out.String()
}

func (y *story) say(format string, args ...any) { fmt.Fprintf(&y.out, "  "+format+"\n", args...) }

// seconds is a time of a transcript.
func seconds(t int64) string {
	return strconv.FormatFloat(float64(t-epochOfTranscripts)/1e6, 'f', -1, 64) + "s"
}

func percent(s lease.Ranges) string {
	return fmt.Sprintf("%.1f %%", 100*float64(s.Len())/float64(circle.Units))
}

func (y *story) pieces(rate string) []pacer.Piece {
	r, err := strconv.ParseInt(rate, 10, 64)
	if err != nil {
		y.t.Fatal(err)
	}
	pieces, err := pacer.Constant(pacer.PerSecond(r), 0).Pieces()
	if err != nil {
		y.t.Fatal(err)
	}
	return pieces
}

func (y *story) command(text string) {
	y.t.Helper()
	words := strings.Fields(text)
	switch words[0] {
	case "make":
		least, _ := strconv.Atoi(words[2])
		hold := 10 * time.Second
		if len(words) > 3 {
			hold, _ = time.ParseDuration(words[3])
		}
		y.options = Options{Pieces: y.pieces(words[1]), Min: least, Hold: hold.Microseconds()}
		y.s.lose()
		y.s.make(y.now, y.options, "server0", nil)
		y.r = New(y.options, "server0")
	case "set-rate", "pause", "resume", "stop":
		y.order(words)
	case "rm":
		y.r.Remove(y.now, words[1])
		if err := y.s.call("remove", y.now, "uid", y.s.channel(), words[1], "me").Err(); err != nil {
			y.t.Fatal(err)
		}
	case "copy":
		y.backup, y.dump = y.r.Clone(), y.s.dump()
	case "failover":
		y.failover()
	case "lost,":
		y.bringBack(words[1])
	case "audit":
		y.audit()
	default:
		y.worker(words[0], strings.Join(words[1:], " "))
	}
}

// order carries out a command of an operator.
func (y *story) order(words []string) {
	y.n++
	o := Order{ID: fmt.Sprint(y.n), Kind: words[0]}
	if len(words) > 1 {
		o.Pieces = y.pieces(words[1])
	}
	got, want := y.s.Order(y.now, o), y.r.Order(y.now, o)
	if err := differs("order", got, want); err != nil {
		y.t.Fatal(err)
	}
	if got.T0 == 0 {
		y.say("%s", got.Status)
		return
	}
	y.say("%s, in force from %s", got.Status, seconds(got.T0))
}

// bringBack loses the run, and lets a worker make it again with the laws that it knows.
func (y *story) bringBack(worker string) {
	laws := y.workers[worker].View().Laws.All()
	y.s.lose()
	y.backup = nil
	y.s.make(y.now, y.options, y.s.identity, laws)
	y.r = Restore(y.options, y.s.identity, y.now, laws)
}

func (y *story) audit() {
	a := y.r.Audit(y.now)
	y.say("%d slots asked for", a.Asked)
	for _, owner := range slices.Sorted(maps.Keys(a.Owned)) {
		y.say("%s owned %d", owner, a.Owned[owner])
	}
	y.say("nobody owned %d", a.Idle)
}

// worker does something as one of the workers.
func (y *story) worker(name, does string) {
	y.t.Helper()
	h := y.workers[name]
	if h == nil || does == "restarts" {
		y.starts[name]++
		h = lease.NewHolder(name, fmt.Sprint(y.starts[name]), 1)
		y.workers[name] = h
	}
	switch does {
	case "restarts":
	case "leaves":
		h.Leave()
	case "halts":
		h.Halt(y.now)
	case "renew":
		for again := true; again; {
			r := y.ask(name)
			again = h.Receive(y.now, r)
			h.Agreed(h.View().Version, y.now, y.now)
			y.explain(r, h.View())
		}
	case "renew, reply lost":
		y.ask(name)
	case "repeats":
		y.say("%s", y.both(y.last[name], y.r.ever).Status)
	default:
		y.t.Fatalf("%s %s: there is no such command", name, does)
	}
}

// ask makes a worker's call.
func (y *story) ask(name string) lease.Reply {
	h := y.workers[name]
	y.last[name] = h.Call()
	for _, x := range y.last[name].Releases {
		y.say("it releases %s from slot %d of law %d on", percent(lease.Ranges{x}), x.From.K, y.number(x.From.Law))
	}
	return y.both(y.last[name], h.View().Laws)
}

// number is that of a law in the transcript.
func (y *story) number(id int64) int {
	if !slices.Contains(y.seen, id) {
		y.seen = append(y.seen, id)
	}
	return 1 + slices.Index(y.seen, id)
}

// explain writes what a reply means to a worker.
func (y *story) explain(r lease.Reply, v lease.View) {
	if r.Status != lease.OK {
		y.say("%s", r.Status)
		return
	}
	for _, l := range r.Laws {
		y.say("law %d: %s from %s on", y.number(l.ID), asks(l), seconds(l.T0))
	}
	y.say("holds %s until %s; the next call is due in %s", percent(v.Held), seconds(v.P), time.Duration(r.Wait)*time.Microsecond)
	if len(r.Give) > 0 {
		y.say("is to give up %s", percent(r.Give))
	}
}

// asks is what a law asks for.
func asks(l lease.Law) string {
	switch l.Phase {
	case lease.Paused:
		return "pause"
	case lease.Stopped:
		return "stop"
	case lease.Ended:
		return "end"
	}
	return strconv.FormatFloat(float64(l.R0)/float64(l.Den), 'f', -1, 64) + "/s"
}
