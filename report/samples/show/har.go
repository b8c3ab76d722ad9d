package show

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/loadctl/loadctl/report/samples"
)

// A harFile is an archive as HAR 1.2 describes it (http://www.softwareishard.com/blog/har-12-spec/), as far as samples fill it.
// Members that begin with _ are ours; the specification allows them.
type harFile struct {
	Log harLog `json:"log"`
}

type harLog struct {
	Version string     `json:"version"`
	Creator harNamed   `json:"creator"`
	Entries []harEntry `json:"entries"`
}

// A harNamed is a program with its version.
type harNamed struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type harEntry struct {
	Started    time.Time   `json:"startedDateTime"` // when it was due
	Time       float64     `json:"time"`            // ms: its latency
	Request    harRequest  `json:"request"`
	Response   harResponse `json:"response"`
	Cache      struct{}    `json:"cache"`
	Timings    harTimings  `json:"timings"`
	Server     string      `json:"serverIPAddress,omitempty"`
	Connection string      `json:"connection,omitempty"`
	Comment    string      `json:"comment"`

	Ordinal uint64   `json:"_ordinal"`
	Worker  string   `json:"_worker"`
	Step    string   `json:"_step,omitempty"`
	Why     []string `json:"_why"`
	Class   string   `json:"_class,omitempty"`
	TraceID string   `json:"_traceId,omitempty"`
}

// harTimings are in ms; -1 = it does not apply.
type harTimings struct {
	Blocked float64 `json:"blocked"` // lag
	DNS     float64 `json:"dns"`
	Connect float64 `json:"connect"`
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
	SSL     float64 `json:"ssl"`
}

// HAR writes the samples of requests over HTTP as an archive for the tools of browsers. [Note] says what it leaves out.
func HAR(w io.Writer, s Selection) error {
	log := harLog{Version: "1.2", Creator: harNamed{cmp.Or(s.Program, "loadctl"), cmp.Or(s.Version, "unknown")}, Entries: []harEntry{}}
	for i := range s.Samples {
		if one := &s.Samples[i]; one.Whole() && overHTTP(one) {
			log.Entries = append(log.Entries, entry(one))
		}
	}
	return encode(w, "HAR", harFile{log})
}

// entry makes an entry of a sample.
func entry(s *samples.Sample) harEntry {
	e := harEntry{
		Started: s.Due.UTC(), Request: harRequestOf(s), Response: harResponseOf(s), Comment: comment(s),
		Ordinal: s.Ordinal, Worker: s.Worker, Step: s.Step, Why: s.Why, Class: s.Class, TraceID: s.TraceID,
	}
	wait := s.FirstByte
	if wait == 0 {
		wait = s.Service
	}
	e.Timings = harTimings{Blocked: ms(s.Lag), DNS: -1, Connect: -1, Receive: ms(s.Service - wait), SSL: -1}
	if c := s.Connection; c.Connect > 0 { // HAR counts TLS in both
		e.Timings.Connect = ms(c.Connect + c.TLS)
		if wait -= c.Connect + c.TLS; c.TLS > 0 {
			e.Timings.SSL = ms(c.TLS)
		}
	}
	e.Timings.Wait = ms(wait)
	e.Time = round(e.Timings.Blocked + max(0, e.Timings.Connect) + e.Timings.Wait + e.Timings.Receive)
	if host, _, ok := cutPort(s.Connection.Remote); ok {
		e.Server = host
	}
	if s.Connection.Number > 0 {
		e.Connection = strconv.FormatInt(s.Connection.Number, 10)
	}
	return e
}

// ms returns a time in ms.
func ms(ns int64) float64 { return float64(max(0, ns)) / 1e6 }

// round returns a sum of times without what adding has made of its last digits.
func round(ms float64) float64 { return math.Round(ms*1e6) / 1e6 }

// cutPort splits an address.
func cutPort(address string) (host, port string, ok bool) {
	i := strings.LastIndexByte(address, ':')
	if i < 0 {
		return "", "", false
	}
	return strings.Trim(address[:i], "[]"), address[i+1:], true
}

// comment says what the members of an entry do not.
func comment(s *samples.Sample) string {
	text := fmt.Sprintf("request %d of worker %s: %s", s.Ordinal, s.Worker, result(s))
	if s.Error != "" {
		text += ", " + s.Error
	}
	return text
}

// query returns the parameters of a query in their order.
func query(u *url.URL) []harField {
	fields := []harField{}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		fields = append(fields, harField{Name: unescaped(name), Value: unescaped(value)})
	}
	return fields
}

// unescaped decodes a part of a query. What cannot be decoded stays as it is.
func unescaped(part string) string {
	if text, err := url.QueryUnescape(part); err == nil {
		return text
	}
	return part
}

// text returns a body for HAR: as text, or in base64.
func text(m *samples.Message) (body, encoding string) {
	if !m.Hex {
		return m.Body, ""
	}
	raw, err := hex.DecodeString(m.Body)
	if err != nil {
		return m.Body, ""
	}
	return base64.StdEncoding.EncodeToString(raw), "base64"
}
