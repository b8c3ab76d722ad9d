package archive_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/loadctl/loadctl/internal/proof/await"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/archive"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/render"
	"github.com/loadctl/loadctl/report/reporttest"
	"github.com/loadctl/loadctl/report/samples"
)

// TestArchiveRoundTrip: each format of an archive is that of the report it was made of.
func TestArchiveRoundTrip(t *testing.T) {
	whole := reporttest.Run(t)
	cut := whole
	cut.Running, cut.Limiter, cut.Missing = true, "token-bucket, burst 50", []string{"nobody knows \x1b[2J what\nhappened"}
	long := whole
	long.Duration = 3 * time.Hour // wide points
	for what, in := range map[string]report.Input{"whole": whole, "running": cut, "long": long, "closed": reporttest.Loop(true), "queried": reporttest.Queried(whole), "sampled": reporttest.Sampled(whole), "nothing": {}, "one": {Run: "x", Budget: report.Budget{Issued: 1_001}, Workers: whole.Workers[:1]}} {
		r := report.Build(in)
		reporttest.SameFormats(t, what, reporttest.Reread(t, r), r)
	}
	seeds := uint64(20)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds { // what workers report at random
		rng, asked := rand.New(rand.NewPCG(seed, 5)), int64(0)
		in := report.Input{Run: "r", Duration: time.Duration(rng.Int64N(int64(2 * time.Hour)))}
		for range 3 {
			w := reporttest.Fates(rng, &asked)
			in.Workers, in.Budget.Issued = append(in.Workers, w), in.Budget.Issued+w.Leased
		}
		r := report.Build(in)
		reporttest.SameFormats(t, fmt.Sprint("seed ", seed), reporttest.Reread(t, r), r)
	}
}

var update = flag.Bool("update", false, "write the golden file in testdata")

// TestOldArchive: archives written by this version stay readable. `go test -update` rewrites the file, which nobody
// should need.
func TestOldArchive(t *testing.T) {
	const path = "testdata/report.loadctl"
	r := report.Build(reporttest.Run(t))
	if *update {
		var text bytes.Buffer
		if err := archive.Write(&text, r); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	old, err := archive.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"csv", "hgrm"} { // the others may say more in later versions
		if reporttest.EveryFormat(t, old)[name] != reporttest.EveryFormat(t, r)[name] {
			t.Errorf("%s differs:\n%s", name, reporttest.EveryFormat(t, old)[name])
		}
	}
}

// TestReadJSON: a report as JSON can be read too, without histograms; no archive can be made of it.
func TestReadJSON(t *testing.T) {
	r := report.Build(reporttest.Run(t))
	back, err := archive.Read(strings.NewReader(reporttest.EveryFormat(t, r)["json"]))
	if err != nil || back.Histograms != nil || back.Latency != r.Latency || len(back.Series) != len(r.Series) {
		t.Errorf("%v, %+v", err, back)
	}
	if err := archive.Write(io.Discard, back); err == nil || !strings.Contains(err.Error(), "no histograms") {
		t.Errorf("archive of it: %v", err)
	}
	for _, text := range []string{"{}", `{"run":"x"}`, "{", `{"series_width_s":1,"series":[{"t":5}]}`, `{"series_width_s":3}`, `{"run":"x","run":"y","series_width_s":1}`, `{"series_width_s":1,"samples":[` + strings.Repeat("{},", samples.Most) + `{}]}`} {
		if _, err := archive.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "it is not a report of loadctl") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// bodyOf returns the JSON in an archive of the report that the tests share.
func bodyOf(t testing.TB) string {
	t.Helper()
	return string(archivedJSON(t, report.Build(reporttest.Run(t))))
}

// archivedJSON returns the JSON in an archive of r.
func archivedJSON(t testing.TB, r report.Report) []byte {
	t.Helper()
	h := r.Histograms
	body, err := json.Marshal(archive.Document{Report: r, Latency: h.Latency, Service: h.Service, Lag: h.Lag, Errors: h.Errors, Series: h.Series})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// packed returns an archive with this JSON.
func packed(t testing.TB, body string) string {
	t.Helper()
	text, err := archive.Pack([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fullHistogram returns the text of a histogram with all buckets in use: a few hundred bytes for up to 300 kB of
// memory.
func fullHistogram(t testing.TB, digits int) string {
	t.Helper()
	h := record.Histogram{Digits: digits}
	for ns := int64(0); ns <= record.HighestNS; ns += max(512, ns/2048) {
		h.Record(ns)
	}
	text, err := h.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A hostile archive is a file that is no archive, and what its error says.
type hostileArchive struct{ text, says string }

// hostileArchives are all of them, by what is wrong with them.
func hostileArchives(t testing.TB) map[string]hostileArchive {
	all := map[string]hostileArchive{}
	for _, some := range []map[string]hostileArchive{brokenArchives(t), hugeArchives(t), strangeValues(t), strangeQueries(t), strangeSeries(t), strangePhases(t), strangeStreams(t)} {
		for what, c := range some {
			if _, twice := all[what]; twice {
				t.Fatalf("two archives are %s", what)
			}
			all[what] = c
		}
	}
	return all
}

// swapping returns a function that makes an archive in which a text stands for another one.
func swapping(t testing.TB) func(from, to string) string {
	body := bodyOf(t)
	return func(from, to string) string {
		if !strings.Contains(body, from) {
			t.Fatalf("no %s in the archive", from)
		}
		return packed(t, strings.Replace(body, from, to, 1))
	}
}

// manyClasses returns members of an object with a full histogram each.
func manyClasses(t testing.TB) string {
	var classes strings.Builder
	full := fullHistogram(t, record.FullDigits)
	for i := range 5_000 {
		fmt.Fprintf(&classes, `"c%d":"%s",`, i, full)
	}
	return classes.String()
}

// brokenArchives are cut off or damaged, or no archives at all.
func brokenArchives(t testing.TB) map[string]hostileArchive {
	body := bodyOf(t)
	good := packed(t, body)
	line := strings.Index(good, "\n") + 1
	return map[string]hostileArchive{
		"empty":            {"", "it is not an archive of loadctl"},
		"a picture":        {"\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 100), "it is not an archive of loadctl"},
		"no version":       {"loadctl archive \n" + good[line:], "it is not an archive of loadctl"},
		"version 0":        {"loadctl archive 0\n" + good[line:], "it is not an archive of loadctl"},
		"version 2":        {"loadctl archive 2\n" + good[line:], "version 2, but this program knows versions up to 1"},
		"version 1e99":     {"loadctl archive " + strings.Repeat("9", 99) + "\n", "it is not an archive of loadctl"},
		"title only":       {good[:line], "cut off or damaged"},
		"cut in the title": {good[:line-1], "cut off or damaged"},
		"cut in half":      {good[:len(good)/2], "cut off or damaged"},
		"cut at the end":   {good[:len(good)-6], "cut off or damaged"},
		"changed":          {good[:len(good)/2] + "AAAA" + good[len(good)/2+4:], "cut off or damaged"},
		"twice":            {good + good[line:], "cut off or damaged"},
		"followed":         {good[:len(good)-1] + "\nAAAA\n", "cut off or damaged"},
		"no JSON":          {packed(t, ""), "unexpected EOF"},
		"cut JSON":         {packed(t, body[:len(body)/2]), "unexpected"},
		"more JSON":        {packed(t, body+"{}"), "archive: "},
	}
}

// hugeArchives exceed a bound.
func hugeArchives(t testing.TB) map[string]hostileArchive {
	swap := swapping(t)
	wide := fullHistogram(t, record.SeriesDigits)
	var members strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&members, `"%d":1,`, i)
	}
	return map[string]hostileArchive{
		"bomb":            {packed(t, strings.Repeat(" ", archive.MaxBytes+1)), "unpacks to more than 32 MiB"},
		"deep":            {packed(t, strings.Repeat("[", 100_000)), "nested deeper than 32"},
		"deep objects":    {packed(t, strings.Repeat(`{"a":`, 100_000)), "nested deeper than 32"},
		"many objects":    {packed(t, `{"report":{"workers":[`+strings.Repeat("{},", 1_000_000)+`{}]}}`), "more than 200000 objects"},
		"many values":     {packed(t, `{"report":{"notes":[`+strings.Repeat(`"",`, 3_000_000)+`""]}}`), "more than 2000000 values"},
		"a long text":     {packed(t, `{"report":{"run":"`+strings.Repeat("x", 1<<20)+`"}}`), "a text of 1048576 bytes"},
		"many samples":    {swap(`"asked":`, `"samples":[`+strings.Repeat("{},", samples.Most)+`{}],"asked":`), "20001 samples, more than 20000"},
		"many histograms": {swap(`"series":["`, `"series":["`+strings.Repeat(`1,1,1,1,1,1,`+wide+`","`, 20_000)), "a series of 20010 points, more than 1024"},
		"many classes":    {swap(`"errors":{"status":"`, `"errors":{`+manyClasses(t)+`"status":"`), "5002 classes of errors, more than 65"},
		"many members":    {swap(`"status_codes":{`, `"status_codes":{`+members.String()), "an object with more than 10000 members"},
		"many events":     {swap(`"events":[`, `"events":[`+strings.Repeat("{},", 1000)), "1004 events, more than 1000"},
	}
}

// strangeValues have values that no report has.
func strangeValues(t testing.TB) map[string]hostileArchive {
	swap := swapping(t)
	return map[string]hostileArchive{
		"member twice":     {swap(`"asked":`, `"asked":1,"asked":`), `the member "asked" occurs twice`},
		"twice in capital": {swap(`"asked":`, `"ASKED":1,"asked":`), `the member "asked" occurs twice`},
		"twice in Unicode": {swap(`"status_codes":`, `"ſtatus_codes":{},"status_codes":`), "occurs twice"},
		"negative":         {swap(`"asked":`, `"bytes_in":-1,"x":`), "the number -1 is negative"},
		"huge":             {swap(`"asked":`, `"asked":9007199254740994,"x":`), "is larger than 2^53"},
		"endless":          {swap(`"duration_s":10`, `"duration_s":1e999`), "is larger than 2^53"},
		"too long":         {swap(`"duration_s":10`, `"duration_s":1e15`), "a run of 1e+15 s"},
		"a fraction":       {swap(`"asked":`, `"asked":1.5,"x":`), "archive: "},
		"no histogram":     {swap(`},"latency":`, `},"x":`), "a histogram is missing"},
		"null histogram":   {swap(`"service":"`, `"service":null,"x":"`), "a histogram is missing"},
		"bad histogram":    {swap(`"service":"`, `"service":"AAAA`), "archive: "},
		"foreign errors":   {swap(`"errors":{"status":"`, `"errors":{"other":"","status":"`), `errors "other" has no count`},
	}
}

// strangeQueries have answers of queries that no report has.
func strangeQueries(t testing.TB) map[string]hostileArchive {
	swap := swapping(t)
	return map[string]hostileArchive{
		"no answer":        {swap(`"asked":`, `"queries":[{"name":"a","n":0,"min":1}],"x":`), "the query \"a\" has {N:0"},
		"negative answers": {swap(`"asked":`, `"queries":[{"name":"a","n":-1,"min":1,"avg":1,"max":1}],"x":`), "the query \"a\" has {N:-1"},
		"mean too high":    {swap(`"asked":`, `"queries":[{"name":"a","n":2,"min":-1,"avg":2,"max":1}],"x":`), "the query \"a\" has {N:2"},
		"endless answer":   {swap(`"asked":`, `"queries":[{"name":"a","n":1,"min":1e301,"avg":1e301,"max":1e301}],"x":`), "the number 1e301 is larger than 1e+300"},
		"bad point":        {swap(`{"t":0,`, `{"t":0,"queries":{"a":{"n":0,"max":3}},`), "point 0 of the series: the query \"a\" has"},
		"negative beside":  {swap(`"asked":`, `"queries":[],"bytes_in":-1,"x":`), "the number -1 is negative"},
	}
}

// strangeSeries have points or events that do not fit the run.
func strangeSeries(t testing.TB) map[string]hostileArchive {
	swap := swapping(t)
	return map[string]hostileArchive{
		"wide":            {swap(`"series_width_s":1`, `"series_width_s":1099511627776`), "a series of"},
		"no width":        {swap(`"series_width_s":1`, `"series_width_s":0`), "a series of"},
		"shifted series":  {swap(`"t":1`, `"t":7`), "point 1 of the series is at 7 s"},
		"short series":    {swap(`"series":[{`, `"series":[],"x":[{`), "of the series does not fit"},
		"point far out":   {swap(`"series":["2,1,1,`, `"series":["2,1,1000,`), "of the series does not fit"},
		"negative point":  {swap(`"series":["2,1,1,`, `"series":["2,1,1,-5,1,1,,","2,1,1,`), "archive: "},
		"too many errors": {swap(`"series":["2,1,1,`, `"series":["2,1,1,5,1,1,status=2,","2,1,1,`), `"2" errors of class "status", of 1 that failed`},
		"null point":      {swap(`"series":["2,1,1,`, `"series":[null,"2,1,1,`), "of the series does not fit"},
		"late event":      {swap(`"events":[`, `"events":[{"at":"9999-12-31T23:59:59Z"},`), "event 0 is at 9999-12-31"},
		"null event":      {swap(`"events":[`, `"events":[null,`), "event 0 is at 0001-01-01T00:00:00Z"},
	}
}

// strangePhases have histograms of phases that no report has.
func strangePhases(t testing.TB) map[string]hostileArchive {
	swap := swapping(t)
	phases := func(text string) string {
		return swap(`"series":["2,1,1,`, `"phases":`+text+`,"series":["2,1,1,`)
	}
	return map[string]hostileArchive{
		"phases":           {phases(`7`), "cannot unmarshal number"},
		"a first byte":     {phases(`{"first_byte":"AAAA"}`), "more than 2^53 values"},
		"no base64":        {phases(`{"connect":"!"}`), "illegal base64"},
		"a strange step":   {phases(`{"steps":{"a":"gA=="}}`), `the first bytes of step "a" have no counts`},
		"a null step":      {phases(`{"steps":{"a":null}}`), `the first bytes of step "a" have no counts`},
		"many first bytes": {phases(`{"steps":{` + manyClasses(t) + `"a":""}}`), "steps, more than 33"},
	}
}

// strangeStreams have the time course of answers that no report has.
func strangeStreams(t testing.TB) map[string]hostileArchive {
	swap := swapping(t)
	streams := func(text string) string {
		return swap(`"series":["2,1,1,`, `"streams":`+text+`,"series":["2,1,1,`)
	}
	full := fullHistogram(t, record.FullDigits)
	return map[string]hostileArchive{
		"streams":          {streams(`7`), "cannot unmarshal number"},
		"other streams":    {streams(`{"all":{"answers":1}}`), "the histograms of 0 streams do not fit"},
		"negative tokens":  {streams(`{"all":{"usages":-1}}`), "the number -1 is negative"},
		"a bad gap":        {streams(`{"all":{"event_gap":"AAAA"}}`), "archive: "},
		"a strange stream": {streams(`{"all":{},"steps":{"a":{}}}`), `the streams of step "a" do not fit`},
		"a null stream":    {streams(`{"all":{},"steps":{"a":null}}`), `the streams of step "a" are empty`},
		"many streams":     {streams(`{"steps":{` + strings.ReplaceAll(manyClasses(t), full, "") + `"a":{}}}`), "steps, more than 33"},
	}
}

// TestHostileArchives: each is refused with one line that says why, in bounded memory.
func TestHostileArchives(t *testing.T) {
	for what, c := range hostileArchives(t) {
		var err error
		bytes := reporttest.Allocated(func() { _, err = archive.Read(strings.NewReader(c.text)) })
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
			t.Errorf("%s: %v, want %q", what, err, c.says)
		}
		if bytes > 10*archive.MaxBytes {
			t.Errorf("%s: %d MB allocated", what, bytes>>20)
		}
		runtime.GC()
	}
	if _, err := archive.Read(strings.NewReader(packed(t, bodyOf(t)))); err != nil {
		t.Errorf("the archive that these were made of: %v", err)
	}
	// An endless file is not read to its end.
	endless := io.MultiReader(strings.NewReader("loadctl archive 1\n"), base64.NewDecoder(base64.StdEncoding, zeros{}))
	if _, err := archive.Read(endless); err == nil {
		t.Error("zeros without end are an archive")
	}
}

// zeros is an endless file of the letter A.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'A'
	}
	return len(p), nil
}

// neverSteers renders an untrusted report in each format. The only error is that of missing histograms, and nothing in
// the output controls a terminal, even if another program shows the file.
func neverSteers(t *testing.T, r report.Report) {
	t.Helper()
	for _, name := range render.Formats() {
		write, err := render.Format(name)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := write(&b, r); err != nil && !errors.Is(err, report.ErrNoHistograms) {
			t.Errorf("%s: %v", name, err)
		}
		text := strings.NewReplacer("\n", "", "\t", "").Replace(b.String())
		if at := strings.IndexFunc(text, func(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }); at >= 0 {
			t.Errorf("%s has %q", name, text[max(0, at-20):min(len(text), at+20)])
		}
	}
}

// TestArchivesNeverSteer: texts in an archive are untrusted.
func TestArchivesNeverSteer(t *testing.T) {
	r := reporttest.Scribbled(t)
	r.Described.Flags = append(r.Described.Flags, "-H", "\x1b]0;title\x07\u2028\u202e")
	r.Described.Commands = []report.Command{{Command: "\x1b[2J", Who: "\x9b31m", What: "\x00"}}
	neverSteers(t, reporttest.Reread(t, r))
}

// TestDamagedArchives: an archive that is cut anywhere is refused. One with any bit changed is refused or has the same
// content: some bits of the gzip header and of line ends do not matter.
func TestDamagedArchives(t *testing.T) {
	in := reporttest.Run(t)
	in.Workers = in.Workers[:1]
	in.Workers[0].Series = nil
	whole := report.Build(in)
	good := packed(t, string(archivedJSON(t, whole)))
	for n := range len(good) - 1 { // the last line end does not matter
		if _, err := archive.Read(strings.NewReader(good[:n])); err == nil {
			t.Fatalf("cut at %d of %d bytes it is read", n, len(good))
		}
	}
	want, step := reporttest.EveryFormat(t, whole)["json"], 1
	if await.RaceEnabled || testing.Short() {
		step = 7
	}
	harmless := 0
	for bit := 0; bit < 8*len(good); bit += step {
		text := []byte(good)
		text[bit/8] ^= 1 << (bit % 8)
		r, err := archive.Read(bytes.NewReader(text))
		if err == nil {
			harmless++
			if got := reporttest.EveryFormat(t, r)["json"]; got != want {
				t.Fatalf("bit %d changed: another report is read:\n%s", bit, got)
			}
		} else if strings.Contains(err.Error(), "\n") || len(err.Error()) > 300 {
			t.Errorf("bit %d changed: %q", bit, err)
		}
	}
	t.Logf("%d bytes, %d cuts refused, %d bits that do not matter", len(good), len(good)-1, harmless)
}

// TestMemoryOfArchives: the largest accepted archive takes bounded memory, while it is read and afterwards.
func TestMemoryOfArchives(t *testing.T) {
	body := bodyOf(t)
	swap := func(from, to string) string { return strings.Replace(body, from, to, 1) }
	var members strings.Builder
	for i := range archive.MaxMembers - 10 {
		fmt.Fprintf(&members, `"x%d":1,`, i)
	}
	for what, body := range map[string]string{
		"texts":      swap(`"notes":[]`, `"notes":[`+strings.Repeat(`"`+strings.Repeat("x", 500_000)+`",`, 62)+`""]`),
		"values":     swap(`"notes":[]`, `"notes":[`+strings.Repeat(`"",`, archive.MaxValues-10_000)+`""]`),
		"workers":    swap(`"workers":[`, `"workers":[`+strings.Repeat(`{},`, archive.MaxContainers-200)),
		"verdicts":   swap(`"verdicts":[`, `"verdicts":[`+strings.Repeat(`{},`, archive.MaxContainers-200)+`{}],"x":[`),
		"members":    swap(`"status_codes":{`, `"status_codes":{`+members.String()),
		"unknown":    swap(`"asked":`, `"x":[`+strings.Repeat(`[],`, archive.MaxContainers-200)+`[]],"asked":`),
		"histograms": swap(`"latency":"`, `"latency":"`+fullHistogram(t, record.FullDigits)+`","l":"`),
	} {
		text := packed(t, body)
		most := mostHeap(func() {
			if _, err := archive.Read(strings.NewReader(text)); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
		t.Logf("%s: %d kB of text, %d MB of JSON, at most %d MB of heap", what, len(text)>>10, len(body)>>20, most>>20)
		if most > 8*archive.MaxBytes {
			t.Errorf("%s: at most %d MB of heap", what, most>>20)
		}
	}
}

// mostHeap returns by how much the heap in use grows at most while f runs.
func mostHeap(f func()) (most int64) {
	use := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	runtime.GC()
	before, done, measured := use(), make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		for {
			most = max(most, use()-before)
			select {
			case <-done:
				measured <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	f()
	close(done)
	return <-measured
}

// FuzzArchive: whatever the JSON in an archive, it is refused, or the report can be rendered, archived again, and
// combined.
func FuzzArchive(f *testing.F) {
	f.Add([]byte(bodyOf(f)))
	for what, c := range hostileArchives(f) {
		if slow := regexp.MustCompile("^(many|deep|bomb|a long text)"); !slow.MatchString(what) && len(c.text) < 1<<14 {
			f.Add([]byte(c.text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, text := range []string{string(data), packed(t, string(data))} {
			r, err := archive.Read(strings.NewReader(text))
			if err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("more than a line: %q", err)
				}
				continue
			}
			neverSteers(t, r)
			if r.Histograms == nil {
				continue
			}
			reporttest.SameFormats(t, "archived again", reporttest.Reread(t, r), r)
			r.Workers = nil // of which no two are the same
			if _, err := report.Combine([]report.Part{{Name: "a", Report: r}, {Name: "b", Report: r}}); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestOldReportsHaveNoEvents: their list of events is empty.
func TestOldReportsHaveNoEvents(t *testing.T) {
	r := report.Build(reporttest.Run(t))
	for what, text := range map[string]string{
		"archive": packed(t, strings.Replace(bodyOf(t), `"events":`, `"later":`, 1)),
		"JSON":    strings.Replace(reporttest.EveryFormat(t, r)["json"], `"events":`, `"later":`, 1),
	} {
		if old, err := archive.Read(strings.NewReader(text)); err != nil || old.Events == nil || len(old.Events) != 0 {
			t.Errorf("%s: %v, %v", what, err, old.Events)
		}
	}
}
