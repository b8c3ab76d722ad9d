package pacer_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// checkPieces compiles p, reads each piece back, and compares the areas of all with Integral.
func checkPieces(t *testing.T, p pacer.Profile) []pacer.Piece {
	t.Helper()
	ps, err := p.Pieces()
	if err != nil {
		t.Fatal(err)
	}
	var us int64
	var area, edge float64 // edge: the error of a µs borrowed at each jump
	for _, s := range p.Segments {
		edge = max(edge, 1e-6*float64(len(p.Segments))*max(s.From.Float(), s.To.Float()))
	}
	for _, piece := range ps {
		if got, err := pacer.ParsePiece(piece.String()); err != nil || got != piece {
			t.Fatalf("piece %v reads back as %v, %v", piece, got, err)
		}
		if piece.Dur == 0 {
			return ps
		}
		us += piece.Dur
		area += float64(piece.R0+piece.R1) / 2 / float64(piece.Den) * float64(piece.Dur) / 1e6
		if want := p.Integral(time.Duration(us) * time.Microsecond); math.Abs(area-want) > want*1e-6+edge {
			t.Fatalf("%v after %d µs: the pieces' area is %v, the integral %v", piece, us, area, want)
		}
	}
	if length := p.Length(); length > 0 && us != length.Microseconds() {
		t.Fatalf("the pieces take %d µs, the profile %v", us, length)
	}
	return ps
}

func perSecond(rates ...int64) (out []pacer.Rate) {
	for _, r := range rates {
		out = append(out, pacer.PerSecond(r))
	}
	return out
}

func TestPiecesOfProfiles(t *testing.T) {
	r := perSecond(0, 1, 100, 320, 900, 5000, 100_000_000)
	slow := pacer.Rate{Num: 1, Den: 1_000_000}
	for name, c := range map[string]struct {
		profile pacer.Profile
		pieces  int
	}{
		"constant":                 {pacer.Constant(r[2], 10*time.Second), 1},
		"constant without end":     {pacer.Constant(r[5], 0), 1},
		"the largest rate":         {pacer.Constant(r[6], time.Hour), 1},
		"the smallest rate":        {pacer.Constant(slow, 24*time.Hour), 1},
		"the zero rate":            {pacer.Constant(pacer.Rate{}, time.Second), 1},
		"a millisecond":            {pacer.Constant(r[2], time.Millisecond), 1},
		"not whole µs":             {pacer.Constant(r[2], 1_234_567_891), 1},
		"ramp from 0":              {pacer.Stages(r[0], pacer.Stage{Length: 10 * time.Second, To: r[5]}), 1},
		"ramp to 0":                {pacer.Stages(r[5], pacer.Stage{Length: 10 * time.Second, To: r[0]}), 1},
		"ramp over the whole":      {pacer.Stages(slow, pacer.Stage{Length: time.Hour, To: r[6]}), 1},
		"steep ramp":               {pacer.Stages(r[0], pacer.Stage{Length: 7 * time.Millisecond, To: r[6]}), 1},
		"ramp of 90 years":         {pacer.Stages(r[1], pacer.Stage{Length: 90 * 365 * 24 * time.Hour, To: r[5]}), 1},
		"a ns less":                {pacer.Stages(r[1], pacer.Stage{Length: 90*365*24*time.Hour - 1, To: r[5]}), 1},
		"jump, hold, jump, fall":   {pacer.Stages(r[0], pacer.Stage{To: r[2]}, pacer.Stage{Length: time.Second, To: r[2]}, pacer.Stage{To: r[4]}, pacer.Stage{Length: time.Second, To: r[1]}), 2},
		"jump at the end":          {pacer.Stages(r[2], pacer.Stage{Length: time.Second, To: r[2]}, pacer.Stage{To: r[5]}), 1},
		"silence between":          {pacer.Stages(r[2], pacer.Stage{Length: time.Second, To: r[0]}, pacer.Stage{Length: time.Second, To: r[0]}, pacer.Stage{Length: time.Second, To: r[2]}), 3},
		"fractional rates":         {pacer.Stages(pacer.Rate{Num: 1, Den: 3}, pacer.Stage{Length: time.Minute, To: pacer.Rate{Num: 7, Den: 2}}), 1},
		"nothing behind the end":   {pacer.Profile{Segments: []pacer.Segment{{From: r[1], To: r[1], Length: -1}, {From: r[2], To: r[2], Length: 5}}}, 1},
		"from the zero rate value": {pacer.Stages(pacer.Rate{}, pacer.Stage{Length: time.Second, To: r[2]}), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if ps := checkPieces(t, c.profile); len(ps) != c.pieces {
				t.Errorf("%d pieces, want %d: %v", len(ps), c.pieces, ps)
			}
		})
	}
}

// TestLongSteepRamp: a ramp is one piece, however far its rate goes. Its count agrees with the integral. Its slots are
// in order, each before its end.
func TestLongSteepRamp(t *testing.T) {
	slow, fast := pacer.PerSecond(1), pacer.PerSecond(1_000_000)
	for _, p := range []pacer.Profile{
		pacer.Stages(slow, pacer.Stage{Length: time.Hour, To: fast}), pacer.Stages(fast, pacer.Stage{Length: time.Hour, To: slow}),
	} {
		l := lawOf(checkPieces(t, p)[0])
		if want := int64(3600 * 1_000_001 / 2); l.K != want || l.Dur != 3600_000_000 {
			t.Fatalf("%v: %d slots, want %d", l, l.K, want)
		}
		for e := int64(0); e <= l.Dur; e += 999_983 { // slots with I < n, exactly: n is I rounded up
			all := area(l, l.T0+e)
			want := new(big.Int).Div(new(big.Int).Sub(new(big.Int).Add(all.Num(), all.Denom()), big.NewInt(1)), all.Denom())
			if got := l.Before(l.T0 + e); got != want.Int64() {
				t.Fatalf("%v: %d slots before T0 + %d µs, the area is %v", l, got, e, all.FloatString(9))
			}
		}
		last := int64(0)
		for from := int64(0); from < l.K; from += l.K/1000 - 1 {
			for k := from; k < min(from+1000, l.K); k++ {
				due := l.Due(k)
				if due < last || due >= (l.T0+l.Dur)*1000 {
					t.Fatalf("%v: Due(%d) = %d, behind %d", l, k, due, last)
				}
				last = due
			}
			if exact, _ := linearDue(l, from).Float64(); math.Abs(float64(l.Due(from)-l.T0*1000)-exact) > 1+exact*1e-12 {
				t.Fatalf("%v: Due(%d) = T0 + %d ns, exactly %.3f", l, from, l.Due(from)-l.T0*1000, exact)
			}
		}
	}
}

func TestPiecesOfRandomStages(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	rate := func() pacer.Rate {
		den := []int64{1, 1, 2, 10, 60}[rng.IntN(5)]
		return pacer.Rate{Num: logInt(rng, 10_000_000), Den: den}
	}
	for range 2000 {
		var stages []pacer.Stage
		for range 1 + rng.IntN(6) {
			length := time.Duration(logInt(rng, int64(time.Hour)))
			if rng.IntN(4) == 0 {
				length = 0
			}
			stages = append(stages, pacer.Stage{Length: length, To: rate()})
		}
		stages = append(stages, pacer.Stage{Length: time.Second, To: rate()})
		checkPieces(t, pacer.Stages(rate(), stages...))
	}
}

func TestIntegral(t *testing.T) {
	ramp := pacer.Stages(pacer.PerSecond(0), pacer.Stage{Length: 10 * time.Second, To: pacer.PerSecond(100)}, pacer.Stage{To: pacer.PerSecond(50)}, pacer.Stage{Length: 10 * time.Second, To: pacer.PerSecond(50)})
	loop := pacer.Profile{Segments: ramp.Segments, Loop: true}
	for _, c := range []struct {
		name string
		p    pacer.Profile
		t    time.Duration
		want float64
	}{
		{"constant", pacer.Constant(pacer.PerSecond(3), time.Minute), 20 * time.Second, 60},
		{"constant, beyond its end", pacer.Constant(pacer.PerSecond(3), time.Minute), time.Hour, 180},
		{"endless", pacer.Constant(pacer.Rate{Num: 1, Den: 2}, 0), time.Hour, 1800},
		{"before the start", ramp, -time.Second, 0},
		{"at the start", ramp, 0, 0},
		{"half the ramp", ramp, 5 * time.Second, 125},
		{"the ramp", ramp, 10 * time.Second, 500},
		{"behind the jump", ramp, 12 * time.Second, 600},
		{"the end", ramp, 20 * time.Second, 1000},
		{"beyond the end", ramp, time.Hour, 1000},
		{"a loop: the second time", loop, 25 * time.Second, 1125},
		{"a loop without length", pacer.Profile{Segments: []pacer.Segment{{To: pacer.PerSecond(1)}}, Loop: true}, time.Second, 0},
		{"nothing", pacer.Profile{}, time.Second, 0},
	} {
		if got := c.p.Integral(c.t); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%s: Integral(%v) = %v, want %v", c.name, c.t, got, c.want)
		}
	}
	for name, p := range map[string]pacer.Profile{"endless": pacer.Constant(pacer.PerSecond(1), 0), "loop": loop, "nothing": {}} {
		if p.Length() != 0 {
			t.Errorf("%s: Length() = %v, want 0", name, p.Length())
		}
	}
	if got := ramp.Length(); got != 20*time.Second {
		t.Errorf("Length() = %v, want 20s", got)
	}
}

// TestIntegralOfLongLoops: the integral over whole periods of a loop is a multiple of one period's. A walk through
// each period gives the same.
func TestIntegralOfLongLoops(t *testing.T) {
	walk := func(p pacer.Profile, t time.Duration) (area float64) {
		once := pacer.Profile{Segments: p.Segments}
		for ; t > 0; t -= once.Length() {
			area += once.Integral(t)
		}
		return area
	}
	for _, text := range []string{
		"sine:mean=1000,amplitude=1000,period=64ms", "sine:mean=1/3s,amplitude=1/4s,period=1000000007ns", "sine:mean=7,amplitude=3,period=1d",
	} {
		p, err := pacer.ParseProfile(text)
		if err != nil {
			t.Fatal(err)
		}
		period := pacer.Profile{Segments: p.Segments}.Length()
		for _, at := range []time.Duration{-1, 0, 1, period / 3, period - 1, period, period + 1, 2*period - 1, 999*period + period/7, 1000 * period} {
			if got, want := p.Integral(at), walk(p, at); math.Abs(got-want) > 1e-9*want {
				t.Errorf("%s: Integral(%v) = %v, period by period %v", text, at, got, want)
			}
		}
	}
	p, err := pacer.ParseProfile("sine:mean=1000,amplitude=1000,period=64ms")
	if err != nil {
		t.Fatal(err)
	}
	const years = 90 * 365 * 24 * time.Hour // 44 billion periods: too many to walk through
	if got, want := p.Integral(years), 1000*years.Seconds(); math.Abs(got-want) > 1e-6*want {
		t.Errorf("%v in 90 years, want %v", got, want)
	}
	endless := pacer.Constant(pacer.PerSecond(3), 0)
	if endless.Loop = true; endless.Integral(time.Hour) != 3*3600 {
		t.Errorf("a loop that never comes to its end: %v", endless.Integral(time.Hour))
	}
}

func TestSine(t *testing.T) {
	for _, c := range []string{
		"mean=1000,amplitude=400,period=1m",
		"mean=1000,amplitude=1000,period=64ms",
		"mean=1000,amplitude=0,period=1s",
		"mean=0,amplitude=0,period=1s",
		"mean=1/3s,amplitude=1/3s,period=1h",
		"mean=0.0004,amplitude=0.0001,period=24h",
		"mean=0.000001,amplitude=0.000001,period=24h",
		"mean=50M,amplitude=50M,period=1s",
		"mean=100,amplitude=99.9,period=870000h", // 99 years
		"mean=100,amplitude=99.9,period=1d",
		"mean=7,amplitude=3,period=1000000007ns",
	} {
		p, err := pacer.ParseProfile("sine:" + c)
		if err != nil {
			t.Errorf("%s: %v", c, err)
			continue
		}
		checkPieces(t, p)
		mean, _ := pacer.ParseRate(strings.TrimPrefix(strings.Split(c, ",")[0], "mean="))
		amplitude, _ := pacer.ParseRate(strings.TrimPrefix(strings.Split(c, ",")[1], "amplitude="))
		var period time.Duration
		for i, s := range p.Segments {
			period += s.Length
			want := mean.Float() + amplitude.Float()*math.Sin(2*math.Pi*float64(i)/float64(len(p.Segments)))
			if s.From.Num < 0 || math.Abs(s.From.Float()-want) > 0.0005001/float64(mean.Den) && mean.Den <= 1000 {
				t.Errorf("%s: %v at vertex %d, the curve is at %v", c, s.From, i, want)
			}
			if s.To != p.Segments[(i+1)%len(p.Segments)].From {
				t.Errorf("%s: vertex %d jumps", c, i+1)
			}
		}
		if _, text, _ := strings.Cut(c, "period="); true {
			if want, _ := pacer.ParseDuration(text); period != want {
				t.Errorf("%s: the segments take %v", c, period)
			}
		}
		if got, want := p.Integral(period), mean.Float()*period.Seconds(); math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: %v requests in a period, want %v", c, got, want)
		}
	}
}

func TestSteps(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"from=100,to=400,by=100,every=30s", "100 200 300 400"},
		{"from=100,to=400,by=100,every=1d", "100 200 300 400"},
		{"from=400,to=100,by=100,every=30s", "400 300 200 100"},
		{"from=100,to=450,by=100,every=1ms", "100 200 300 400"},
		{"from=100,to=150,by=100,every=1s", "100"},
		{"from=100,to=100,by=1,every=1s", "100"},
		{"from=0,to=0.3,by=0.1,every=1s", "0 1/10s 1/5s 3/10s"},
		{"from=1,to=0,by=1/3s,every=1s", "1 2/3s 1/3s 0"},
		{"every=1s,by=1M,to=2M,from=1M", "1000000 2000000"},
	} {
		p, err := pacer.ParseProfile("steps:" + c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		checkPieces(t, p)
		var got []string
		for _, s := range p.Segments {
			if s.From != s.To || s.Length != p.Segments[0].Length {
				t.Errorf("%s: %+v is no step", c.in, s)
			}
			got = append(got, s.From.String())
		}
		if s := strings.Join(got, " "); s != c.want || p.Loop {
			t.Errorf("%s: %s, want %s", c.in, s, c.want)
		}
	}
	if p, err := pacer.Steps(pacer.Rate{}, pacer.PerSecond(2), pacer.PerSecond(1), time.Second); err != nil || len(p.Segments) != 3 {
		t.Errorf("from the zero Rate: %v, %v", p, err)
	}
}

func TestParseProfileRefuses(t *testing.T) {
	for in, reason := range map[string]string{
		"":                           "write one of replay, sine, spike, steps",
		"flat":                       "write one of replay, sine, spike, steps",
		"Steps:from=1":               "write one of replay, sine, spike, steps",
		"steps":                      "name=value",
		"steps:":                     "name=value",
		"steps:from":                 "name=value",
		"steps:from=1,":              "name=value",
		"steps:from=1,to=2":          "by=RATE is missing",
		"steps:to=1,by=2,every=1s":   "from=RATE is missing",
		"steps:from=1,by=2,every=1s": "to=RATE is missing",
		"steps:from=1,to=2,by=1":     "every=DURATION is missing",
		"steps:from=1,to=2,by=1,every=1s,every=2s":                "each once",
		"steps:from=,from=1,to=2,by=1,every=1s":                   "each once",
		"steps:from=1,to=2,by=1,every=1s,colour=red":              "colour is not a setting",
		"steps:from=1,to=2,by=1,every=0s":                         "at least 1ms",
		"steps:from=1,to=2,by=1,every=-1s":                        "at least 1ms",
		"steps:from=1,to=2,by=1,every=999us":                      "at least 1ms",
		"steps:from=1,to=2,by=1,every=soon":                       "at least 1ms",
		"steps:from=1,to=2,by=0,every=1s":                         "above zero",
		"steps:from=-1,to=2,by=1,every=1s":                        "not negative",
		"steps:from=1,to=2,by=x,every=1s":                         "not a number",
		"steps:from=1,to=200M,by=1,every=1s":                      "at most 100000000",
		"steps:from=0,to=10000,by=1,every=1s":                     "more than 10000 steps",
		"steps:from=0.000001,to=1,by=1/7s,every=1s":               "too fine",
		"steps:from=1,to=2,by=1,every=1s:sine":                    "at least 1ms",
		"sine:mean=1,amplitude=2,period=1s":                       "below zero",
		"sine:mean=1,amplitude=1":                                 "period=DURATION is missing",
		"sine:mean=1,period=1s":                                   "amplitude=RATE is missing",
		"sine:amplitude=1,period=1s":                              "mean=RATE is missing",
		"sine:mean=1,amplitude=1,period=63ms":                     "too short",
		"sine:mean=1,amplitude=1,period=1s,phase=1":               "phase is not a setting",
		"sine:" + strings.Repeat("x", 100_000) + "=1,mean=1":      "is missing",
		strings.Repeat("sine", 100_000):                           "write one of replay, sine, spike, steps",
		"sine:mean=1,amplitude=1,period=99999999999999999999999h": "at least 1ms",
	} {
		p, err := pacer.ParseProfile(in)
		if err == nil || !strings.Contains(err.Error(), reason) || len(err.Error()) > 300 || len(p.Segments) > 0 {
			t.Errorf("ParseProfile(%.60q) = %v, %v; want a short error with %q", in, p, err, reason)
		}
	}
}

func TestPiecesRefuses(t *testing.T) {
	ramp := func(from, to pacer.Rate) pacer.Profile {
		return pacer.Stages(from, pacer.Stage{Length: time.Second, To: to})
	}
	one := pacer.PerSecond(1)
	const years = 365 * 24 * time.Hour
	many := make([]pacer.Stage, 10_001)
	for i := range many {
		many[i] = pacer.Stage{Length: time.Second, To: one}
	}
	for name, c := range map[string]struct {
		p      pacer.Profile
		reason string
	}{
		"nothing":               {pacer.Profile{}, "no length"},
		"only jumps":            {pacer.Stages(one, pacer.Stage{To: one}, pacer.Stage{To: one}), "no length"},
		"less than a µs":        {pacer.Constant(one, 999), "no length"},
		"too fine":              {ramp(pacer.Rate{Num: 1, Den: 1_000_000}, pacer.Rate{Num: 1, Den: 7}), "too fine"},
		"both fine":             {ramp(pacer.Rate{Num: 1, Den: 999_983}, pacer.Rate{Num: 1, Den: 999_979}), "too fine"},
		"too many":              {pacer.Stages(one, many...), "10001 pieces"},
		"negative":              {pacer.Constant(pacer.PerSecond(-1), time.Second), "from 0 to"},
		"negative end":          {ramp(one, pacer.PerSecond(-1)), "from 0 to"},
		"too high":              {pacer.Constant(pacer.PerSecond(100_000_001), 0), "from 0 to"},
		"far too high":          {ramp(one, pacer.PerSecond(math.MaxInt64)), "from 0 to"},
		"a little too high":     {ramp(one, pacer.Rate{Num: 100_000_000*7 + 1, Den: 7}), "from 0 to"},
		"denominator too large": {pacer.Constant(pacer.Rate{Num: 1, Den: 1_000_001}, 0), "from 0 to"},
		"too long":              {pacer.Constant(one, 101*years), "longer than 100 years"},
		"too long together":     {pacer.Stages(one, pacer.Stage{Length: 60 * years, To: one}, pacer.Stage{Length: 60 * years, To: one}), "longer than 100 years"},
		"longer than int64":     {pacer.Stages(one, pacer.Stage{Length: math.MaxInt64, To: one}, pacer.Stage{Length: math.MaxInt64, To: one}), "longer than 100 years"},
	} {
		if ps, err := c.p.Pieces(); err == nil || !strings.Contains(err.Error(), c.reason) || ps != nil {
			t.Errorf("%s: %v, %v; want an error with %q", name, ps, err, c.reason)
		}
	}
	if ps, err := pacer.Stages(one, many[:10_000]...).Pieces(); err != nil || len(ps) != 10_000 {
		t.Errorf("as many as there may be: %d, %v", len(ps), err)
	}
}

func TestParseStage(t *testing.T) {
	for in, want := range map[string]pacer.Stage{
		"30s:200":  {Length: 30 * time.Second, To: pacer.PerSecond(200)},
		"0s:1k":    {To: pacer.PerSecond(1000)},
		"0:0":      {},
		"1h:30/1m": {Length: time.Hour, To: pacer.Rate{Num: 1, Den: 2}},
		"2d:200":   {Length: 48 * time.Hour, To: pacer.PerSecond(200)},
		"1d12h:1":  {Length: 36 * time.Hour, To: pacer.PerSecond(1)},
	} {
		want.To.Den = max(1, want.To.Den)
		if got, err := pacer.ParseStage(in); err != nil || got != want {
			t.Errorf("ParseStage(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for in, reason := range map[string]string{
		"": "DURATION:RATE", "30s": "DURATION:RATE", ":": "duration", ":200": "duration", "30:200": "duration", "-1s:200": "duration", "d:1": "duration", "1.5d:1": "duration",
		"200:30s": "duration", "30s:": "not a number", "30s:-1": "not negative", "30s:1:2": "not a number", "30s :1": "duration", "30s: 1": "not a number",
		strings.Repeat("9", 1000) + "s:1": "duration",
	} {
		if got, err := pacer.ParseStage(in); err == nil || !strings.Contains(err.Error(), reason) || got != (pacer.Stage{}) || len(err.Error()) > 300 {
			t.Errorf("ParseStage(%q) = %v, %v; want an error with %q", in, got, err, reason)
		}
	}
}

func TestParsePieceRefuses(t *testing.T) {
	for _, in := range []string{
		"", "1:1:1", "1:1:1:0:1", "a:1:1:0", "-1:-1:1:0", "1:-1:1:5", "1:1:0:0", "1:1:1:-5", "1:1:1:4503599627370497",
		"1:2:1:0", "1:1:1000001:0", "1:2:1000000000001:1",
	} {
		if got, err := pacer.ParsePiece(in); err == nil || got != (pacer.Piece{}) {
			t.Errorf("ParsePiece(%q) = %v, %v; want an error", in, got, err)
		}
	}
}

func TestJoinPieces(t *testing.T) {
	ps := checkPieces(t, pacer.Stages(pacer.PerSecond(0), pacer.Stage{Length: time.Second, To: pacer.PerSecond(1000)}, pacer.Stage{Length: 2 * time.Second, To: pacer.PerSecond(0)}))
	if got, want := pacer.JoinPieces(ps), "0:1000:1:1000000;1000:0:1:2000000"; got != want {
		t.Errorf("JoinPieces = %q, want %q", got, want)
	}
	if got := pacer.JoinPieces(nil); got != "" {
		t.Errorf("JoinPieces(nil) = %q", got)
	}
}

func FuzzParseProfile(f *testing.F) {
	for _, s := range []string{
		"steps:from=100,to=500,by=100,every=30s", "spike:base=1,peak=5,every=1m,for=5s,ramp=1s", "steps:from=1,to=0,by=1/3s,every=1ms", "sine:mean=1000,amplitude=400,period=1m",
		"sine:mean=0.0004,amplitude=0.0001,period=900000h", "steps:from=,from=1", "sine", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := pacer.ParseProfile(s)
		if err != nil {
			if len(p.Segments) > 0 {
				t.Fatalf("%q: %v beside %v", s, p, err)
			}
			return
		}
		if _, err := p.Pieces(); err != nil {
			return
		}
		for _, piece := range checkPieces(t, pacer.Profile{Segments: p.Segments[:min(64, len(p.Segments))]}) {
			checkDue(t, lawOf(piece))
		}
	})
}

// lawOf returns the law that a piece becomes.
func lawOf(p pacer.Piece) pacer.Law {
	l := pacer.Law{ID: 1, T0: 1_700_000_000_000_000, R0: p.R0, R1: p.R1, Den: p.Den, Dur: p.Dur, K: pacer.Endless}
	switch {
	case p.Dur > 0:
		l.K = l.Before(l.T0 + l.Dur)
	case p.R0 == 0:
		l.K = 0
	}
	return l
}

func FuzzParseStage(f *testing.F) {
	for _, s := range []string{"30s:200", "0:0", "1h:30/1m", "1d12h:30/1d", "2562047h:1", ":", "1ns:0.000001", "60s:c=64", "1ns:c=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		stage, err := pacer.ParseStage(s)
		if err != nil {
			return
		}
		if back, err := pacer.ParseStage(stage.String()); err != nil || back != stage {
			t.Fatalf("%q: %v reads back as %v, %v", s, stage, back, err)
		}
		p := pacer.Stages(pacer.PerSecond(100), stage, stage, pacer.Stage{Length: time.Second, To: pacer.PerSecond(1)})
		if _, err := p.Pieces(); err == nil {
			checkPieces(t, p)
		}
	})
}

func FuzzParsePiece(f *testing.F) {
	for _, s := range []string{"5:5:1:0", "0:5000:1:10000000", "0:0:1:0", "9223372036854775807:0:1000000000000:4503599627370496"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := pacer.ParsePiece(s)
		if err != nil {
			return
		}
		if back, err := pacer.ParsePiece(p.String()); err != nil || back != p {
			t.Fatalf("%q: %v reads back as %v, %v", s, p, back, err)
		}
		l := lawOf(p)
		if err := l.Check(); err != nil {
			t.Fatalf("%q: its law %v: %v", s, l, err)
		}
		checkDue(t, l)
		checkBefore(t, l)
	})
}

func TestSegmentsOfStages(t *testing.T) {
	r := perSecond(1, 2, 3)
	got := pacer.Stages(r[0], pacer.Stage{Length: time.Second, To: r[1]}, pacer.Stage{To: r[2]})
	want := []pacer.Segment{{From: r[0], To: r[1], Length: time.Second}, {From: r[1], To: r[2]}}
	if !slices.Equal(got.Segments, want) || got.Loop {
		t.Errorf("Stages = %+v, want %+v", got, want)
	}
}
