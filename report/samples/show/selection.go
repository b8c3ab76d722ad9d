package show

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/loadctl/loadctl/internal/output/format"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/report/units"
)

// A Selection is the samples of a run that were asked for.
type Selection struct {
	Run     string           `json:"run"`
	Samples []samples.Sample `json:"samples"`

	Program, Version string `json:"-"` // which write this
	Whole            bool   `json:"-"` // for people: each sample in full
}

// Formats lists every format, the default first.
func Formats() format.Table[Selection] {
	return format.Table[Selection]{
		{Name: "text", Ending: ".txt", Render: Text},
		{Name: "json", Ending: ".json", Render: JSON},
		{Name: "har", Ending: ".har", Render: HAR},
		{Name: "curl", Ending: ".sh", Render: Curl},
	}
}

// Note says what a format leaves out of a selection; "" = nothing.
func Note(format string, s Selection) string {
	if format != "har" {
		return ""
	}
	foreign, bare := 0, 0
	for i := range s.Samples {
		switch one := &s.Samples[i]; {
		case !one.Whole():
			bare++
		case !overHTTP(one):
			foreign++
		}
	}
	var why []string
	if bare > 0 {
		why = append(why, units.Things(int64(bare), "sample")+" of which only the times were kept")
	}
	if foreign > 0 {
		why = append(why, units.Things(int64(foreign), "sample")+" of protocols other than HTTP")
	}
	if len(why) == 0 {
		return ""
	}
	return fmt.Sprintf("left out of the HAR: %s; -o json has all", strings.Join(why, " and "))
}

// overHTTP reports whether a sample is a request over HTTP.
func overHTTP(s *samples.Sample) bool {
	u := address(s)
	return u != nil && (u.Scheme == "http" || u.Scheme == "https")
}

// address returns the URL of a sample without user and password; nil = it is unknown or unreadable.
func address(s *samples.Sample) *url.URL {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return nil
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return u
}

// requestLine returns the method and the target of a request; "" if it has none.
func requestLine(s *samples.Sample) (method, target string) {
	if s.Request == nil {
		return "", ""
	}
	words := strings.Fields(s.Request.Start)
	if len(words) < 2 {
		return "", ""
	}
	return words[0], words[1]
}

// version returns the version of HTTP, as in HTTP/1.1, HTTP/2 or HTTP/3; "" = unknown. The answer says it best.
func version(s *samples.Sample) string {
	for _, m := range []*samples.Message{s.Response, s.Request} {
		if m == nil {
			continue
		}
		for word := range strings.FieldsSeq(m.Start) {
			switch {
			case word == "HTTP/2.0", word == "HTTP/3.0": // as some write it
				return strings.TrimSuffix(word, ".0")
			case strings.HasPrefix(word, "HTTP/"):
				return word
			}
		}
	}
	return ""
}
