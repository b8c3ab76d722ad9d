package pacer_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/pacer"
)

// files are files by name.
type files map[string]string

func (f files) open(name string) (io.ReadCloser, error) {
	content, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

// replayed reads a profile of the file f, and compares its pieces with Integral.
func replayed(t *testing.T, settings, content string) (pacer.Profile, []pacer.Piece) {
	t.Helper()
	text, err := pacer.LoadProfile("replay:f"+settings, files{"f": content}.open)
	if err != nil {
		t.Fatalf("%s: %v", settings, err)
	}
	p, err := pacer.ParseProfile(text)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := pacer.LoadProfile(text, files{}.open); err != nil || again != text {
		t.Fatalf("loaded twice: %.100s, %v", again, err)
	}
	return p, checkPieces(t, p)
}

// w3c begins a log in the extended format.
const w3c = "#Version: 1.0\n#Fields: date time cs-method cs-uri-stem\n"

// hit is a line of an access log in the combined format, a time after noon.
func hit(after time.Duration) string {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.FixedZone("", 3600)).Add(after)
	return fmt.Sprintf("2001:db8::1 - ann [not a time] [%s] \"GET /[x] HTTP/1.1\" 200 17 \"-\" \"curl/8.5\"\n", at.Format("02/Jan/2006:15:04:05 -0700"))
}

func hits(seconds ...int) string {
	var log strings.Builder
	for _, s := range seconds {
		log.WriteString(hit(time.Duration(s) * time.Second))
	}
	return log.String()
}

func TestReplay(t *testing.T) {
	for _, c := range []struct{ name, settings, content, pieces string }{
		{"a row's rate holds until the next", "", "time,rate\n0,100\n2,300\n3,50\n", "100:100:1:2000000;300:300:1:1000000;50:50:1:1000000"},
		{"the last row is as long as the one before", "", "time,rate\n0,1\n1,2\n11,3\n", "1:1:1:1000000;2:2:1:10000000;3:3:1:10000000"},
		{"equal neighbours are one", "", "time,rate\n0,5\n1,5.0\n2,5\n3,6\n4,5\n", "5:5:1:3000000;6:6:1:1000000;5:5:1:1000000"},
		{"the first time is the start", "", "time,rate\n-7,5\n-6,6\n", "5:5:1:1000000;6:6:1:1000000"},
		{"Unix times", "", "time,rate\n1769860800.25,5\n1769860801.75,6\n", "5:5:1:1500000;6:6:1:1500000"},
		{"RFC 3339, zones", "", "time,rate\n2026-01-31T12:00:00Z,5\n2026-01-31T13:00:01.5+01:00,6\n", "5:5:1:1500000;6:6:1:1500000"},
		{"decimals and exponents", "", "time,rate\n0,0.5\n1e1,1.25e2\n20,.000001\n", "1:1:2:10000000;125:125:1:10000000;1:1:1000000:10000000"},
		{"decimals beyond the sixth are rounded", "", "time,rate\n0,33.3333333333333333\n1,2.9999999\n", "33333333:33333333:1000000:1000000;3:3:1:1000000"},
		{"no rate", "", "time,rate\n0,0\n1,0\n", "0:0:1:2000000"},
		{"other columns, spaces, quotes, CRLF, BOM, empty lines", ",column=in use", "\ufeffhost, time ,\"in use\"\r\n\r\n\"a, \"\"b\"\"\",0, 5\r\nb,1,\"6\"\r\n", "5:5:1:1000000;6:6:1:1000000"},
		{"no line break at the end", "", "time,rate\n0,5\n1,6", "5:5:1:1000000;6:6:1:1000000"},
		{"twice as fast", ",speed=2", "time,rate\n0,100\n2,300\n3,50\n", "200:200:1:1000000;600:600:1:500000;100:100:1:500000"},
		{"half as fast", ",speed=0.5", "time,rate\n0,1\n2,3\n", "1:1:2:4000000;3:3:2:4000000"},
		{"thrice as fast", ",speed=3", "time,rate\n0,2\n1,3\n2,1\n", "2000000:2000000:333333:333333;1000000:1000000:111111:333333;500000:500000:166667:333334"},
		{"scaled", ",scale=0.5", "time,rate\n0,1\n2,3\n", "1:1:2:2000000;3:3:2:2000000"},
		{"scaled and faster", ",scale=0.1,speed=10", "time,rate\n0,1\n2,3\n", "1:1:1:200000;3:3:1:200000"},
		{"windows", ",every=10s", "time,rate\n0,1\n5,3\n10,7\n40,8\n42,9\n", "2:2:1:10000000;7:7:1:30000000;17:17:2:4000000"},
		{"windows over long rows", ",every=10s", "time,rate\n0,1\n4,3\n34,5\n35,6\n", "11:11:5:10000000;3:3:1:20000000;23:23:6:6000000"},
		{"windows and speed: they are of the file", ",every=10s,speed=10", "time,rate\n0,1\n5,3\n10,2\n", "20:20:1:1500000"},
		{"a log", "", hits(0, 0, 0, 1, 2, 2), "3:3:1:1000000;1:1:1:1000000;2:2:1:1000000"},
		{"a log out of order, with silence", "", hits(1, 5, 0, 1, 0, 4), "2:2:1:2000000;0:0:1:2000000;1:1:1:2000000"},
		{"a log of one request", "", hits(7), "1:1:1:1000000"},
		{"a log over midnight, in another zone", "", hit(-time.Second) + strings.Replace(hit(0), "12:00:00 +0100", "06:00:00 -0500", 1), "1:1:1:2000000"},
		{"a log in the common format, in windows", ",every=2s,speed=2", "h - - [31/Jan/2026:23:59:59 +0000] \"-\" 400 0\nh - - [01/Feb/2026:00:00:03 +0000] \"-\" 400 0\n", "1:1:1:1000000;0:0:1:1000000;2:2:1:500000"},
		{"a W3C log", "", w3c + "2026-01-31 12:00:00 GET /\n2026-01-31 12:00:00 GET /\n#Date: 2026-01-31\n2026-01-31 12:00:01 GET /\n", "2:2:1:1000000;1:1:1:1000000"},
		{"a log in JSON, with lines about something else", "", `{"ts":1769860799,"msg":"started"}` + "\n" + `{"ts":1769860800.5,"request":{"method":"GET","uri":"/"}}` + "\n" +
			`{"ts":1769860801,"msg":"saved"}` + "\n" + `{"ts":1769860800,"request":{"method":"GET","uri":"/"}}`, "2:2:1:1000000"},
		{"a log of HAProxy", "", strings.Repeat(`lb haproxy[1]: 192.0.2.1:1 [31/Jan/2026:12:00:00.655] in s/1 1/0/3/6/9 200 27 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"`+"\n", 3), "3:3:1:1000000"},
		{"a log of an ALB", "", `http 2026-01-31T12:00:00.186641Z app/lb/50 192.0.2.1:2 10.0.0.1:80 0 0 0 200 200 0 57 "GET http://a/ HTTP/1.1"` + "\n", "1:1:1:1000000"},
		{"a line as long as may be", "", "time,rate,x\n0,5," + strings.Repeat("x", 65_000) + "\n1,6,\n", "5:5:1:1000000;6:6:1:1000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, pieces := replayed(t, c.settings, c.content)
			if got := pacer.JoinPieces(pieces); got != c.pieces || p.Loop {
				t.Errorf("%s, want %s", got, c.pieces)
			}
		})
	}
}

// TestReplayKeepsCounts: in each row of a file with whole counts, as many slots are due as the file says, at any speed.
// Where a row does not end at a whole µs of the replay, a slot at its end may be due 1 µs to either side.
func TestReplayKeepsCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		settings  string
		speed     time.Duration // in thousandths
		tolerance time.Duration
	}{
		{"", 1000, 0}, {",speed=2", 2000, 0}, {",speed=0.5", 500, 0}, {",speed=8", 8000, 0}, {",speed=0.001", 1, 0},
		{",speed=3", 3000, time.Microsecond}, {",speed=0.3", 300, time.Microsecond}, {",speed=1.017", 1017, time.Microsecond}, {",speed=9.99", 9990, time.Microsecond},
	} {
		for _, most := range []int{1, 3, 500} {
			csv, log, counts := counted(rng, most)
			for _, content := range []string{csv, log} {
				p, _ := replayed(t, c.settings, content)
				var dues []time.Duration
				for _, due := range p.Slots() {
					dues = append(dues, due)
				}
				before := func(at time.Duration) int { n, _ := slices.BinarySearch(dues, at); return n }
				for s, want := range counts {
					end := (time.Duration(s+1) * time.Second * 1000 / c.speed).Truncate(time.Microsecond)
					if least, n := before(end-c.tolerance), before(end+c.tolerance); n < want || least > want {
						t.Fatalf("%q, up to %d: %d to %d slots are due before %v, want %d", c.settings, most, least, n, end, want)
					}
				}
				if len(dues) != counts[len(counts)-1] {
					t.Fatalf("%q, up to %d: %d slots, want %d", c.settings, most, len(dues), counts[len(counts)-1])
				}
			}
		}
	}
}

// counted returns two files with the same counts in each of 300 seconds, and how many they have up to the end of each.
func counted(rng *rand.Rand, most int) (csv, log string, counts []int) {
	var c, l strings.Builder
	c.WriteString("time,rate\n")
	sum := 0
	for s := range 300 {
		n := rng.IntN(most + 1)
		if s == 0 || s == 299 { // where a log begins and ends
			n = most
		}
		sum += n
		counts = append(counts, sum)
		fmt.Fprintf(&c, "%d,%d\n", s, n)
		l.WriteString(strings.Repeat(hit(time.Duration(s)*time.Second), n))
	}
	return c.String(), l.String(), counts
}

// TestReplayDoesNotDrift: what a piece lacks because its rate is rounded, the next ones make up for.
func TestReplayDoesNotDrift(t *testing.T) {
	const row = 7777 // seconds; a third of it is no whole µs, and its rates are too fine
	rng := rand.New(rand.NewPCG(1, 5))
	var csv strings.Builder
	csv.WriteString("time,rate\n")
	var sums []int64
	sum := int64(0)
	for i := range int64(3000) {
		rate := 3*rng.Int64N(1000) + i%3 // never twice the same
		sum += rate * row
		sums = append(sums, sum)
		fmt.Fprintf(&csv, "%d,%d\n", i*row, rate)
	}
	p, pieces := replayed(t, ",speed=3", csv.String())
	if len(pieces) != len(sums) {
		t.Fatalf("%d pieces", len(pieces))
	}
	var us int64
	for i, piece := range pieces {
		us += piece.Dur
		if i%100 == 99 {
			if n := p.Before(time.Duration(us) * time.Microsecond); n != sums[i] {
				t.Fatalf("%d slots before row %d ends, want %d", n, i, sums[i])
			}
		}
	}
}

// TestReplayOfADay: a day of seconds has too many pieces. The error names windows with which it fits, and those keep
// the counts.
func TestReplayOfADay(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	var csv strings.Builder
	csv.WriteString("time,rate\n")
	var counts [8640]int64
	for s := range 86_400 {
		n := int64(2*s%7 + rng.IntN(2)*7) // never twice the same
		counts[s/10] += n
		fmt.Fprintf(&csv, "%d,%d\n", s, n)
	}
	_, err := pacer.LoadProfile("replay:day.csv", files{"day.csv": csv.String()}.open)
	if want := "replay: day.csv: 86400 pieces with a rate each, at most 10000; every=10s averages the rates and keeps their counts"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	p, _ := replayed(t, ",every=10s", csv.String())
	var got [8640]int64
	for _, due := range p.Slots() {
		got[due/(10*time.Second)]++
	}
	if got != counts || p.Length() != 24*time.Hour {
		t.Errorf("%v: %v, want %v", p.Length(), got, counts)
	}
}

// TestReplayOfManyRows: the windows that the error names fit, whatever the length of the file is.
func TestReplayOfManyRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for _, gap := range []time.Duration{time.Millisecond, 1500 * time.Microsecond, time.Second, time.Minute, 3*time.Minute + 1} {
		var csv strings.Builder
		csv.WriteString("time,rate\n")
		for s := range 15_000 {
			fmt.Fprintf(&csv, "%.6f,%d\n", (time.Duration(s) * gap).Seconds(), rng.IntN(1000))
		}
		_, err := pacer.LoadProfile("replay:f", files{"f": csv.String()}.open)
		if err == nil {
			t.Fatalf("%v: no error", gap)
		}
		_, rest, _ := strings.Cut(err.Error(), "; every=")
		every, _, _ := strings.Cut(rest, " ")
		if p, _ := replayed(t, ",every="+every, csv.String()); len(p.Segments) < 100 {
			t.Errorf("%v: %v, which makes %d pieces", gap, err, len(p.Segments))
		}
	}
}

func TestReplayRefuses(t *testing.T) {
	seen := 0
	for _, c := range slices.Concat(badRows(), badReplays(), badSettings()) {
		seen++
		text, err := pacer.LoadProfile("replay:f"+c.settings, files{"f": c.content}.open)
		if err == nil || !strings.HasPrefix(err.Error(), "replay: ") || !strings.Contains(err.Error(), c.reason) || len(err.Error()) > 500 ||
			strings.ContainsAny(err.Error(), "\n\r") || text != "" {
			t.Errorf("%.60q of %.60q: %.60q, %.600v; want an error with %q", c.settings, c.content, text, err, c.reason)
		}
	}
	if seen < 25 {
		t.Errorf("only %d inputs", seen)
	}
	for _, text := range []string{"replay", "replay:", "replay:,speed=2"} {
		if _, err := pacer.LoadProfile(text, files{}.open); err == nil || !strings.Contains(err.Error(), "give a file first, as in replay:traffic.csv,speed=2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A refusal is a replay with an error: the settings after its file, the file, and a part of the error.
type refusal struct{ settings, content, reason string }

// rows are a file that can be replayed.
const rows = "time,rate\n0,5\n1,6\n"

// badRows are files with a header or a row that cannot be read.
func badRows() []refusal {
	return []refusal{
		{"", "", "f: the file is empty; give a CSV file"},
		{"", "\n \n\r\n", "f: the file is empty"},
		{"", "\ufeff", "f: the file is empty"},
		{"", "0,5\n1,6\n", `f:1: "0,5" is neither a header with the column time nor a line of an access log; begin a CSV file with a header such as time,rate, or give an access log: one of W3C (IIS, CloudFront), JSON lines, ALB, ELB, S3, HAProxy HTTP, common or combined`},
		{"", "\n\n0,5\n", `f:3: "0,5" is neither a header`},
		{"", "Time,Rate\n0,5\n", `f:1: "Time,Rate" is neither a header`},
		{"", "time;rate\n0;5\n", `f:1: "time;rate" is neither a header`},
		{"", "2026-01-31T12:00:00Z 127.0.0.1 \"GET /a,b HTTP/1.1\" 200\n", `f:1: "2026-01-31T12:00:00Z 127.0.0.1 \"GET /a,b HTTP/1.1\" 200" is neither a header`},
		{"", `{"ts": "2026-01-31T12:00:00Z", "status": 200}`, `f:1: "{\"ts\": \"2026-01-31T12:00:00Z\", \"status\": 200}" is neither a header`},
		{"", `a "` + strings.Repeat("é", 60), `f:1: "a \"` + strings.Repeat("é", 28) + `…" is neither a header`},
		{"", strings.Repeat("\x1b\"", 1000), `\x1b\"…" is neither a header`},
		{"", `{"time": 0}`, `f:1: "{\"time\": 0}" is neither`},
		{"", "time,qps\n0,5\n", `f:1: there is no column "rate"; name that of the rate with column=NAME, one of time, qps`},
		{",column=in", rows, `f:1: there is no column "in"; name that of the rate with column=NAME, one of time, rate`},
		{"", "time,rate\n", "f:1: a replay needs two rows at least"},
		{"", "time,rate\n0,5\n", "f:2: a replay needs two rows at least"},
		{"", rows + "2,-6\n", "f:4: the rate -6 is negative; give 0 or more"},
		{"", rows + "2,NaN\n", `f:4: the rate "NaN" is no number; give requests per second`},
		{"", rows + "2,Inf\n", `f:4: the rate "Inf" is no number`},
		{"", rows + "2,0x10\n", `f:4: the rate "0x10" is no number`},
		{"", rows + "2,1_000\n", `f:4: the rate "1_000" is no number`},
		{"", rows + "2,5k\n", `f:4: the rate "5k" is no number`},
		{"", rows + "2,\n", `f:4: the rate "" is no number`},
		{"", rows + "2,1e400\n", `f:4: the rate "1e400" is no number`},
		{"", rows + "2,100000001\n", "f:4: the rate 100000001 is too high; give at most 100000000"},
		{"", rows + "1,6\n", "f:4: the time 1 is not after that of line 3; sort the rows by time"},
		{"", rows + "\n0.5,6\n", "f:5: the time 0.5 is not after that of line 3"},
		{"", "time,rate\n2026-01-31T12:00:00Z,1\n2026-01-31T11:59:59Z,1\n", "f:3: the time 2026-01-31T11:59:59Z is not after that of line 2"},
		{"", rows + "soon,6\n", `f:4: the time "soon" is neither a number nor RFC 3339; give seconds, such as 12.5, or 2026-01-31T12:00:00Z`},
		{"", rows + "NaN,6\n", `f:4: the time "NaN" is neither`},
		{"", rows + "2026-01-31 12:00:00,6\n", `is neither a number nor RFC 3339`},
		{"", rows + "1769860800000,6\n", "f:4: the time 1769860800000 is beyond the year 2106; give seconds, not milliseconds"},
		{"", rows + "1769860800,6\n", "f:4: this is more than 365 days after line 2; remove lines with wrong times"},
		{"", rows + "2\n", "f:4: 1 cells, and the header has 2"},
		{"", rows + "2,6,7\n", "f:4: 3 cells, and the header has 2"},
		{"", rows + "2,\"6\n", `f:4: extraneous or missing " in quoted-field; put cells with quotes and commas in double quotes`},
		{"", rows + "2,6\"\n", `f:4: bare " in non-quoted-field`},
		{"", "\"time,rate\n", `f:1: "\"time,rate" is neither`},
	}
}

// badReplays cannot be sent at their speed, or are no text, or too long.
func badReplays() []refusal {
	long := strings.Repeat("x", 1<<20)
	return []refusal{
		{"", rows + "1.09,7\n", "f:3: a rate that holds for 90ms of the replay, at least 100ms; every=100ms averages the rates and keeps their counts"},
		{",speed=11", rows, "f:2: a rate that holds for 90.909ms of the replay, at least 100ms; every=2s averages"},
		{",speed=2", "time,rate\n0,5\n1,50000001\n", "f:3: 100000002 requests per second of the replay, at most 100000000; give a lower speed= or scale="},
		{",speed=20,every=1s", rows + "2,7\n", "f:2: a rate that holds for 50ms of the replay, at least 100ms; every=2s averages"},
		{",scale=1e6", rows + "2,101\n", "f:4: 101000000 requests per second of the replay"},
		{",speed=0.000001", rows + "40,1\n", "f:4: this is more than 365 days after line 2"},
		{"", rows + "2," + long + "\n", "f:4: the line has more than 65536 bytes; give a CSV file or an access log"},
		{"", long, "f:1: the line has more than 65536 bytes"},
		{"", rows + "2,6\x00\n", "f:4: this is no text; give a CSV file or an access log, in UTF-8"},
		{"", "\x7fELF\x02\x01\x01\x00\x00\n", "f:1: this is no text"},
		{"", "\xff\xfet\x00i\x00m\x00e\x00", "f:1: this is no text"},
		{"", "\x1f\x8b\x08\x00\x00\n", "f:1: the file is compressed; unpack it first"},
		{"", hits(0, 1) + "rotated\n", `f:3: "rotated" has no time such as [31/Jan/2026:12:00:00 +0000]; remove the line`},
		{"", hits(0) + strings.Replace(hits(1), "31/Jan", "31/Feb", 1), `f:2: "2001:db8::1 - ann [not a time] [31/Feb/2026:12:00:01 +0100] …" has no time such as`},
		{"", hits(0) + "[31/Jan/2026:12:00:00 +0000", `f:2: "[31/Jan/2026:12:00:00 +0000" has no time such as`},
		{"", hits(0, 366*86_400), "this is more than 365 days after line 1"},
		{"", "rotated\n" + hits(0), `f:1: "rotated" has no time such as`},
		{"", w3c + "2026-01-31 12:00:00 GET\n", `f:3: "2026-01-31 12:00:00 GET" is not of the format of the first lines, which is W3C (IIS, CloudFront); remove the line`},
		{"", w3c, "f: the log has no request; give one that has some"},
		{"", "1286536309.585 921 192.0.2.1 TCP_MISS/200 507 GET http://a/ - DIRECT/192.0.2.1 text/html\n", "f: is a Squid log, which has no requests that can be read here; give one of W3C"},
		{",column=rate", hits(0), "f: column= is for CSV files, and this is an access log; leave it out"},
	}
}

// badSettings are wrong whatever is in the file.
func badSettings() []refusal {
	long := strings.Repeat("x", 1<<20)
	return []refusal{
		{",speed=0", rows, "speed=0: give a number above 0 and up to 1000000, such as 2 or 0.5"},
		{",speed=-1", rows, "speed=-1: give a number above 0"},
		{",scale=NaN", rows, "scale=NaN: give a number above 0"},
		{",scale=1e7", rows, "scale=1e7: give a number above 0 and up to 1000000"},
		{",scale=", rows, "scale=: give a number above 0"},
		{",every=soon", rows, "every=soon: give a duration of at least 1ms"},
		{",every=1us", rows, "every=1us: give a duration of at least 1ms"},
		{",column=", rows, "column=: give the name of a column"},
		{",colour=red", rows, "colour is not a setting of this profile; leave it out"},
		{",speed=2,speed=2", rows, "each once"},
		{",", rows, "name=value"},
		{",fast", rows, "name=value"},
		{"ile", rows, "file: file does not exist; give the path of a file that can be read"},
		{long, rows, "file does not exist; give the path"},
	}
}

// broken is a file that fails while it is read.
type broken struct{ io.Reader }

func (broken) Close() error { return nil }
func (broken) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: "/d", Err: errors.New("is a directory")}
}

func TestReplayOfWhatCannotBeRead(t *testing.T) {
	_, err := pacer.LoadProfile("replay:/d", func(string) (io.ReadCloser, error) { return broken{}, nil })
	if want := "replay: /d: is a directory; give the path of a file that can be read"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestParseProfileReadsNoFile: what is stored of a run comes from Redis, and must not name files of this machine.
func TestParseProfileReadsNoFile(t *testing.T) {
	for text, reason := range map[string]string{
		"replay":                                                     "its file has not been read",
		"replay:/etc/passwd":                                         "its file has not been read",
		"replay:f,pieces=1:1:1:5":                                    "its file has not been read",
		"replay:file=f":                                              "its pieces are missing",
		"replay:file=f,pieces=":                                      "piece",
		"replay:file=f,pieces=1:1:1":                                 "piece",
		"replay:file=f,pieces=1:1:1:0":                               "out of range",
		"replay:file=f,pieces=1:2:1:5":                               "out of range",
		"replay:file=f,pieces=1:1:1:5;":                              "piece",
		"replay:file=f,colour=1,pieces=1:1:1:5":                      "colour is not a setting",
		"replay:file=f,pieces=1:1:1:3153600000000001":                "out of range",
		"replay:file=f,pieces=" + strings.Repeat("1:1:1:5;", 10_001): "10002 pieces, at most 10000",
	} {
		if p, err := pacer.ParseProfile(text); err == nil || !strings.Contains(err.Error(), reason) || p.Segments != nil || len(err.Error()) > 300 {
			t.Errorf("%.60s: %v, %v; want an error with %q", text, p, err, reason)
		}
	}
	for _, text := range []string{"steps:from=1", "zigzag", "", "replay:file=f"} { // ParseProfile judges them
		if got, err := pacer.LoadProfile(text, files{}.open); got != text || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestBriefProfile(t *testing.T) {
	text, err := pacer.LoadProfile("replay:/home/ann/f,speed=2", files{"/home/ann/f": "time,rate\n0,5\n1,6\n"}.open)
	if err != nil {
		t.Fatal(err)
	}
	if want := "replay:file=f,speed=2,pieces=10:10:1:500000;12:12:1:500000"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	// printf '10:10:1:500000;12:12:1:500000' | sha256sum
	if got, want := pacer.BriefProfile(text), "replay:f,speed=2,[2 pieces, SHA-256 4d55c313097b23ec0f31a6775e18ead86bd5718f0c8e11f11f2386c4f7a339f2]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, text := range []string{"sine:mean=1,amplitude=1,pieces=2", "replay:f", "zigzag,pieces=3", ""} {
		if got := pacer.BriefProfile(text); got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzReplay(f *testing.F) {
	for _, content := range []string{"time,rate\n0,5\n1,6\n", "time,rate\n1e3,5\n2026-01-31T12:00:00Z,1e-3\n", hits(3, 1), "x,time\n\"\",\"", ""} {
		f.Add(content, ",speed=3,scale=0.7,every=1s")
		f.Add(content, "")
	}
	f.Fuzz(func(t *testing.T, content, settings string) {
		text, err := pacer.LoadProfile("replay:f"+settings, func(string) (io.ReadCloser, error) { return files{"f": content}.open("f") })
		if err != nil {
			if text != "" || strings.Contains(err.Error(), "\n") && !strings.Contains(settings+content, "\n") {
				t.Fatalf("%q beside %v", text, err)
			}
			return
		}
		if strings.HasPrefix(settings, "ile=") { // no file was read
			return
		}
		p, err := pacer.ParseProfile(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		checkPieces(t, p)
	})
}
