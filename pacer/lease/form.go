package lease

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/pacer/circle"
)

// Calls, replies and messages are texts for the scripts: whole numbers of eight bytes, the least significant byte
// first, as in lua/state.lua. Everything that is read is checked, so that nothing in a View can make the arithmetic
// fail.

const (
	most      = 1 << 53 // larger numbers are not exact in a script
	lawBytes  = 22 * 8
	headBytes = 7 * 8
)

// errForm says that no script of this version has written a text.
var errForm = errors.New("not written by this version of loadctl")

func pack(b []byte, numbers ...int64) []byte {
	for _, x := range numbers {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

// unpack returns the numbers of a text that has records of `of` numbers.
func unpack(s string, of int) ([]int64, error) {
	if len(s)%(8*of) != 0 {
		return nil, errForm
	}
	out := make([]int64, len(s)/8)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64([]byte(s[8*i : 8*i+8])))
	}
	return out, nil
}

// Args returns the arguments of the renewal script that follow the run's uid and the wake-up channel. A call that
// changes nothing has only four.
func (c Call) Args() []string {
	claim := Claim{P: -1}
	if c.Claim != nil {
		claim = *c.Claim
	}
	numbers := pack(nil, c.Seq, c.Weight, c.Known, c.Version, int64(c.Leaving), claim.P, claim.ClockEpoch)
	args := []string{c.Worker, c.Incarnation, c.Epoch, string(numbers)}
	if c.Claim == nil && len(c.Releases) == 0 && len(c.Laws) == 0 {
		return args
	}
	laws, plans := PackLaws(c.Laws)
	return append(append(args, c.Releases.pack(), claim.Held.pack(), laws), plans...)
}

// ReadReply reads an answer of the renewal script. Each plan that the laws name must be in the reply, or in known.
func ReadReply(texts []string, known *Laws) (r Reply, err error) {
	if len(texts) != 1 && len(texts) < 4 || len(texts[0]) < headBytes {
		return r, fmt.Errorf("read a reply: %w", errForm)
	}
	v, _ := unpack(texts[0][:headBytes], 1)
	for _, x := range v {
		if x < 0 || x > most {
			return r, fmt.Errorf("read a reply: %w", errForm)
		}
	}
	status, epoch, ok := strings.Cut(texts[0][headBytes:], "|")
	r = Reply{Status: Status(status), Epoch: epoch, Seq: v[0], ClockEpoch: v[1], Now: v[2], P: v[3], Members: v[4], Wait: v[5], Version: v[6]}
	switch r.Status {
	case OK, MustClaim, Stale, Replaced, Gone, NoState:
	default:
		ok = false
	}
	if !ok || len(epoch) > 64 {
		return Reply{}, fmt.Errorf("read a reply: %w", errForm)
	}
	if len(texts) == 1 {
		return r, nil
	}
	if r.List, err = readRanges(texts[1], 4); err != nil {
		return Reply{}, fmt.Errorf("read a reply: list: %w", err)
	}
	if r.Give, err = readRanges(texts[2], 2); err != nil {
		return Reply{}, fmt.Errorf("read a reply: give: %w", err)
	}
	if r.Laws, err = ReadLaws(texts[3], texts[4:], known); err != nil {
		return Reply{}, fmt.Errorf("read a reply: %w", err)
	}
	return r, nil
}

// ReadMessage returns the laws in a message on the wake-up channel. An empty message has none: it only asks for a
// call.
func ReadMessage(s string, known *Laws) ([]Law, error) {
	if s == "" {
		return nil, nil
	}
	if len(s) < 8 {
		return nil, fmt.Errorf("read a message: %w", errForm)
	}
	n := binary.LittleEndian.Uint64([]byte(s[:8]))
	if n > uint64(len(s)/lawBytes) {
		return nil, fmt.Errorf("read a message: %w", errForm)
	}
	end := 8 + int(n)*lawBytes
	if end > len(s) {
		return nil, fmt.Errorf("read a message: %w", errForm)
	}
	var plans []string
	if end < len(s) {
		plans = strings.Split(s[end:], "\n")
	}
	laws, err := ReadLaws(s[8:end], plans, known)
	if err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	return laws, nil
}

func (s Ranges) pack() string {
	b := make([]byte, 0, 32*len(s))
	for _, x := range s {
		b = pack(b, x.Lo, x.Hi, x.From.Law, x.From.K)
	}
	return string(b)
}

// readRanges reads ranges of two numbers each, or of four with their first slot.
func readRanges(s string, of int) (Ranges, error) {
	v, err := unpack(s, of)
	if err != nil {
		return nil, err
	}
	var out Ranges
	for at := int64(0); len(v) > 0; v = v[of:] {
		x := Range{Lo: v[0], Hi: v[1]}
		if of == 4 {
			x.From = Pos{v[2], v[3]}
		}
		if x.Lo < at || x.Hi <= x.Lo || x.Hi > circle.Units || min(x.From.Law, x.From.K) < 0 || max(x.From.Law, x.From.K) > most {
			return nil, fmt.Errorf("ranges are not in order on the circle: %w", errForm)
		}
		at = x.Hi
		out = append(out, x)
	}
	return out, nil
}

// PackLaws returns laws as the scripts keep them, and the plans that they name. The plan of the run's description is
// left out: everybody has it.
func PackLaws(laws []Law) (text string, plans []string) {
	b := make([]byte, 0, lawBytes*len(laws))
	named := map[int64]bool{0: true}
	for _, l := range laws {
		b = pack(b, l.ID, l.T0, l.C, l.R0, l.R1, l.Den, l.Dur, l.K,
			l.Base, int64(l.Phase), l.Prev, l.Cut, l.Plan.ID, int64(l.Piece),
			l.Left.R0, l.Left.R1, l.Left.Den, l.Left.Dur, l.End, l.Stop, l.ClockEpoch, l.Seed)
		if !named[l.Plan.ID] {
			named[l.Plan.ID] = true
			plans = append(plans, l.Plan.String())
		}
	}
	return string(b), plans
}

// ReadLaws reads laws in the order of their numbers. A plan that they name must be in plans, be known, or be that of
// the run's description.
func ReadLaws(text string, plans []string, known *Laws) ([]Law, error) {
	all := map[int64]*Plan{}
	for _, l := range known.All() {
		all[l.Plan.ID] = l.Plan
	}
	for _, text := range plans {
		p, err := ParsePlan(text)
		if err != nil {
			return nil, err
		}
		all[p.ID] = p
	}
	return readLaws(text, func(id int64) *Plan { return all[id] })
}

// ReadHistory reads all laws of a run, in the order of their numbers. Their plans are empty: the plans of laws that
// are over are not kept.
func ReadHistory(text string) ([]Law, error) {
	return readLaws(text, func(id int64) *Plan { return &Plan{ID: id} })
}

func readLaws(text string, plan func(id int64) *Plan) ([]Law, error) {
	v, err := unpack(text, lawBytes/8)
	if err != nil {
		return nil, fmt.Errorf("laws: %w", err)
	}
	var out []Law
	for ; len(v) > 0; v = v[lawBytes/8:] {
		l, err := newLaw(v, plan(v[12]))
		if err != nil {
			return nil, fmt.Errorf("law %d: %w", v[0], err)
		}
		if n := len(out); n > 0 && out[n-1].ID >= l.ID {
			return nil, fmt.Errorf("law %d is out of order: %w", l.ID, errForm)
		}
		out = append(out, l)
	}
	return out, nil
}

func newLaw(v []int64, plan *Plan) (Law, error) {
	l := Law{Law: pacer.Law{ID: v[0], T0: v[1], C: v[2], R0: v[3], R1: v[4], Den: v[5], Dur: v[6], K: v[7], Seed: v[21]},
		Base: v[8], Phase: Phase(v[9]), Prev: v[10], Cut: v[11], Plan: plan, Piece: int(v[13]),
		Left: pacer.Piece{R0: v[14], R1: v[15], Den: v[16], Dur: v[17]}, End: v[18], Stop: v[19], ClockEpoch: v[20]}
	if err := l.Check(); err != nil {
		return Law{}, err
	}
	if l.Left != (pacer.Piece{}) {
		if err := l.Left.Check(); err != nil {
			return Law{}, fmt.Errorf("the rest of a piece: %w", err)
		}
	}
	for _, x := range []int64{l.ID, l.Base, l.Prev, l.Cut, v[12], v[13], l.End, l.Stop, l.ClockEpoch} {
		if x < 0 || x > most {
			return Law{}, errForm
		}
	}
	switch {
	case l.Phase < Running || l.Phase > Ended, l.Prev >= l.ID:
		return Law{}, errForm
	case l.Plan == nil && v[12] == 0: // the plan of the description may be unknown, as nobody needs it here
		l.Plan = &Plan{}
	case l.Plan == nil:
		return Law{}, fmt.Errorf("its plan %d is missing", v[12])
	}
	if l.Plan.ID > 0 && len(l.Plan.Pieces) > 0 && l.Piece > len(l.Plan.Pieces) {
		return Law{}, errForm
	}
	return l, nil
}

// String returns the plan as the scripts keep it: "number:1;pieces" if it loops, else "number:0;pieces". The numbers
// of a scaled one come behind: "number:0:factor:top:of;pieces".
func (p *Plan) String() string {
	loop, scale := 0, ""
	if p.Loop {
		loop = 1
	}
	if p.Factor > 0 {
		scale = fmt.Sprintf(":%d:%d:%d", p.Factor, p.Top, p.Of)
	}
	return fmt.Sprintf("%d:%d%s;%s", p.ID, loop, scale, pacer.JoinPieces(p.Pieces))
}

// ParsePlan reads what String writes. It refuses plans whose arithmetic is not defined.
func ParsePlan(s string) (*Plan, error) {
	head, rest, _ := strings.Cut(s, ";")
	number, form, _ := strings.Cut(head, ":")
	loop, scale, scaled := strings.Cut(form, ":")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id < 0 || id > most || loop != "0" && loop != "1" {
		return nil, fmt.Errorf("plan: %w", errForm)
	}
	p := &Plan{ID: id, Loop: loop == "1"}
	if scaled {
		_, err := fmt.Sscanf(scale, "%d:%d:%d", &p.Factor, &p.Top, &p.Of)
		if err != nil || scale != fmt.Sprintf("%d:%d:%d", p.Factor, p.Top, p.Of) || p.Factor < 1 || p.Factor > p.Top || p.Top > Unscaled || p.Of < 0 || p.Of > id {
			return nil, fmt.Errorf("plan %d: its factor: %w", id, errForm)
		}
	}
	for text := range strings.SplitSeq(rest, ";") {
		piece, err := pacer.ParsePiece(text)
		if err != nil {
			return nil, fmt.Errorf("plan %d: %w", id, err)
		}
		p.Pieces = append(p.Pieces, piece)
	}
	return p, nil
}
