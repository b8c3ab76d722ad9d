package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/input/draft"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/targets"
)

// An archive is a HAR file, as far as requests need it.
type archive struct {
	Log *struct {
		Entries []json.RawMessage `json:"entries"`
	} `json:"log"`
}

// An entry is one request with its answer.
type entry struct {
	Started string `json:"startedDateTime"`
	Cache   string `json:"_fromCache"` // of Chrome: memory or disk
	Kind    string `json:"_resourceType"`
	Request struct {
		Method  string   `json:"method"`
		URL     string   `json:"url"`
		Headers []field  `json:"headers"`
		Body    *content `json:"postData"`
	} `json:"request"`
	Response struct {
		Headers []field `json:"headers"`
		Cookies []field `json:"cookies"`
		Content struct {
			Type     string `json:"mimeType"`
			Text     string `json:"text"`
			Encoding string `json:"encoding"`
		} `json:"content"`
	} `json:"response"`

	number int // in the file, from 1
	at     time.Time
}

// A field is a header, or a field of a form.
type field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	File  string `json:"fileName"`
}

// content is the body of a request.
type content struct {
	Type     string  `json:"mimeType"`
	Text     string  `json:"text"`
	Encoding string  `json:"encoding"`
	Params   []field `json:"params"`
}

// har reads a recording of a browser: one flow, whose steps have the times of the recording. A request that cannot be sent
// is left out with a note, unless none is left.
func (o Options) har(text []byte) (*draft.File, error) {
	var bad badEntries
	entries, err := o.entries(text, &bad)
	if err != nil {
		return nil, err
	}
	entries, notes, err := o.chosen(entries, &bad)
	if err != nil {
		return nil, err
	}
	found := newTakes()
	f := &draft.File{Notes: notes, Lenient: true, Cookies: slices.ContainsFunc(entries[:len(entries)-1], entry.setsCookie), Tokens: found, Secrets: draft.NewSecrets()}
	steps, err := o.recorded(f, found, entries, &bad)
	if err != nil {
		return nil, err
	}
	if names := found.names; len(names) > 0 {
		f.Notes = append(f.Notes, printable.Clip("Later requests carry values of answers: "+strings.Join(names, ", "), 119))
	}
	f.Notes = append(f.Notes, bad.notes()...)
	f.Flows = []draft.Flow{{Name: "recording", Steps: steps}}
	f.Begin(o.Base)
	return f, nil
}

// badEntries are the errors of entries that were left out.
type badEntries struct {
	first error
	lines []string // the first of them
	more  int
}

// add adds the error of an entry.
func (b *badEntries) add(number int, err error) {
	const most = 10
	if b.first == nil {
		b.first = err
	}
	if len(b.lines) == most {
		b.more++
		return
	}
	_, what, _ := strings.Cut(err.Error(), fmt.Sprintf(": entry %d: ", number))
	b.lines = append(b.lines, printable.Clip(fmt.Sprintf("Left out, entry %d: %s", number, what), 119))
}

// notes returns a comment on each.
func (b *badEntries) notes() []string {
	if b.more > 0 {
		return append(slices.Clone(b.lines), fmt.Sprintf("Left out for such reasons: %d more.", b.more))
	}
	return b.lines
}

// entries reads the file. The entries are in the order of their times.
func (o Options) entries(text []byte, bad *badEntries) (all []entry, err error) {
	var a archive
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, o.badJSON(text, err)
	}
	if a.Log == nil || len(a.Log.Entries) == 0 {
		return nil, fmt.Errorf("%s: has no log.entries, or none in it; record some requests, and save them as HAR", o.Name)
	}
	for i, raw := range a.Log.Entries {
		e := entry{number: i + 1}
		err := json.Unmarshal(raw, &e)
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			err = o.about(e, "%s: %s does not fit; correct it", wrong.Field, wrong.Value)
		} else if e.at, err = time.Parse(time.RFC3339Nano, e.Started); err != nil {
			err = o.about(e, "startedDateTime %.40q is no time; write such as 2026-01-31T12:00:00.000Z", e.Started)
		}
		if err != nil {
			bad.add(e.number, err)
			continue
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, bad.first
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	return all, nil
}

// badJSON says where a file is no JSON.
func (o Options) badJSON(text []byte, err error) error {
	line := func(offset int64) int { return 1 + bytes.Count(text[:min(int64(len(text)), offset)], []byte("\n")) }
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s:%d: %s: %s does not fit; give a HAR 1.2 file", o.Name, line(e.Offset), e.Field, e.Value)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%s:%d: is no JSON: %w; save the recording again", o.Name, line(e.Offset), e)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: is no whole JSON file; save the recording again", o.Name)
	}
	return fmt.Errorf("%s: %w", o.Name, err)
}

// about returns an error about an entry.
func (o Options) about(e entry, format string, args ...any) error {
	return fmt.Errorf("%s: entry %d: %w", o.Name, e.number, fmt.Errorf(format, args...))
}

// chosen returns the entries that become steps, and comments about the others.
func (o Options) chosen(all []entry, bad *badEntries) (kept []entry, notes []string, err error) {
	host := strings.ToLower(o.OnlyHost)
	var foreign, cached, static int
	others := map[string]int{}
	for _, e := range all {
		u, err := url.Parse(e.Request.URL)
		switch {
		case err != nil:
			bad.add(e.number, o.about(e, "the URL cannot be read; correct it"))
			continue
		case u.Scheme != "http" && u.Scheme != "https":
			foreign++
			continue
		}
		if host == "" {
			host = strings.ToLower(u.Host)
		}
		switch {
		case e.Cache != "":
			cached++
		case strings.ToLower(u.Host) != host:
			others[strings.ToLower(u.Host)]++
		case o.NoStatic && e.static():
			static++
		default:
			kept = append(kept, e)
		}
	}
	hosts := listed(others)
	switch {
	case len(kept) == 0 && hosts != "":
		return nil, nil, fmt.Errorf("%s: no request of %.60q is left; there are other hosts for --only-host: %.200s", o.Name, host, hosts)
	case len(kept) == 0 && bad.first != nil:
		return nil, nil, bad.first
	case len(kept) == 0:
		return nil, nil, fmt.Errorf("%s: no http request is left; record with an empty cache, and without --no-static", o.Name)
	case len(kept) > targets.MaxSteps:
		return nil, nil, fmt.Errorf("%s: has %d requests of %.60q, and a flow has at most %d; give --no-static, or record less", o.Name, len(kept), host, targets.MaxSteps)
	}
	notes = []string{fmt.Sprintf("Imported from %s, a recording: %s of %s.", o.shown(), draft.Plural(len(kept), "request", "requests"), host)}
	for what, n := range map[string]int{"from a cache": cached, "not http": foreign, "static": static} {
		if n > 0 {
			notes = append(notes, fmt.Sprintf("Left out, %s: %d.", what, n))
		}
	}
	slices.Sort(notes)
	if hosts != "" {
		notes = append(notes, "Left out, of other hosts (--only-host HOST chooses one): "+hosts)
	}
	return kept, notes, nil
}

// listed returns hosts with their counts, the first twenty by name.
func listed(hosts map[string]int) string {
	const most = 20
	var all []string
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		if len(all) == most {
			all = append(all, fmt.Sprintf("and %d more", len(hosts)-most))
			break
		}
		all = append(all, fmt.Sprintf("%s %d", name, hosts[name]))
	}
	return strings.Join(all, ", ")
}

// static reports whether the answer was an image, a font, a style, a script or a video.
func (e entry) static() bool {
	kind := strings.ToLower(e.Response.Content.Type)
	for _, begin := range []string{"image/", "font/", "audio/", "video/", "text/css", "text/javascript", "application/javascript", "application/x-javascript", "application/font"} {
		if strings.HasPrefix(kind, begin) {
			return true
		}
	}
	return slices.Contains([]string{"image", "font", "stylesheet", "script", "media"}, e.Kind)
}

// setsCookie reports whether the answer sets a cookie.
func (e entry) setsCookie() bool {
	return len(e.Response.Cookies) > 0 || slices.ContainsFunc(e.Response.Headers, func(h field) bool { return strings.EqualFold(h.Name, setCookie) })
}

// recorded makes steps of entries. The first one begins the flow.
func (o Options) recorded(f *draft.File, found *takes, all []entry, bad *badEntries) (steps []draft.Step, err error) {
	var unique draft.Names
	var begin time.Time
	var last time.Duration
	for _, e := range all {
		s, err := o.sent(f, e)
		if err != nil {
			bad.add(e.number, err)
			continue
		}
		if len(steps) == 0 {
			begin = e.at
		}
		if s.At = e.at.Sub(begin).Round(time.Millisecond); s.At > targets.MaxPause {
			return nil, o.about(e, "begins %v after the first one, and a flow lasts at most %v; record less", s.At, targets.MaxPause)
		}
		s.Name = unique.Of(draft.StepName(s.Method, s.URL))
		s.Together = len(steps) > 0 && s.At == last && s.At == 0
		last = s.At
		found.learn(len(steps), e)
		steps = append(steps, s)
	}
	for i := range steps {
		steps[i].Takes = found.steps[i]
	}
	if len(steps) == 0 {
		return nil, bad.first
	}
	return steps, nil
}

// sent makes a step of an entry.
func (o Options) sent(f *draft.File, e entry) (draft.Step, error) {
	r := draft.Request{Where: fmt.Sprintf("%s: entry %d", o.Name, e.number)}
	r.Method, r.URL = strings.ToUpper(e.Request.Method), e.Request.URL
	for _, h := range e.Request.Headers {
		r.Headers = append(r.Headers, targets.Header{Name: h.Name, Value: h.Value})
	}
	if err := o.posted(&r, e); err != nil {
		return draft.Step{}, err
	}
	return f.Add(r)
}

// posted gives a request its body.
func (o Options) posted(r *draft.Request, e entry) error {
	body := e.Request.Body
	switch {
	case body == nil:
	case body.Text != "" && body.Encoding == "":
		r.Body = []byte(body.Text)
	case body.Text != "":
		return o.about(e, "the body is encoded as %.20q; save it to a file, remove it here, and add body_file in the workload", body.Encoding)
	case strings.HasPrefix(strings.ToLower(body.Type), draft.FormType):
		var parts []string
		for _, p := range body.Params {
			parts = append(parts, url.QueryEscape(p.Name)+"="+url.QueryEscape(p.Value))
		}
		r.Body = []byte(strings.Join(parts, "&"))
	case len(body.Params) > 0:
		r.Notes = append(r.Notes, "the recording does not have the body of this form: add it as body or body_file")
	}
	typed := func(h targets.Header) bool { return strings.EqualFold(h.Name, "Content-Type") }
	if len(r.Body) > 0 && body.Type != "" && !slices.ContainsFunc(r.Headers, typed) {
		r.Headers = append(r.Headers, targets.Header{Name: "Content-Type", Value: body.Type})
	}
	return nil
}
