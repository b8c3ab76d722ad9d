// Package draft is a workload file in the making: requests that were recorded become steps, secrets become columns of a data
// file, and all of it becomes YAML with comments.
//
//	f := &draft.File{Secrets: draft.NewSecrets()}
//	step, err := f.Add(draft.Request{Step: recorded, Where: "line 3"})
//	if err != nil { … } // one line, which begins with Where
//	f.Flows = []draft.Flow{{Name: "flow", Steps: []draft.Step{step}}}
//	f.Begin("") // the base is that of the first request
//	text := f.Text()
//
// Guarantees: the same requests make the same text. Nothing of it is a secret whose name tells so. A File is for one goroutine.
package draft

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loadctl/loadctl/internal/input/workload"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/wire"
)

// Tokens are values that an answer gave, and that later requests carry.
type Tokens interface {
	// Placeholder returns what a request has in place of a value, if that is a token.
	Placeholder(value string) (placeholder string, ok bool)
	// Names returns the names that were taken.
	Names() []string
}

// A File is a workload file before it is written.
type File struct {
	Notes   []string // comments at its top
	base    string   // without a slash at its end
	headers []targets.Header
	Mixed   bool // the flows have weights
	Cookies bool // flows keep those of their answers
	Lenient bool // a header that is not valid is left out
	Flows   []Flow

	Tokens  Tokens   // nil = answers are not known
	Secrets *Secrets // nil = they stay where they are

	From string // the beginning of URLs that base replaces: scheme and host
}

// A Flow has one step or more.
type Flow struct {
	Name   string
	Weight int64
	Steps  []Step
}

// A Step is a request of which placeholders are written as in a workload file.
type Step struct {
	targets.Step
	Together bool // it is due with the step before it
	BodyFile string
	Secrets  []string // headers that were left out, each once
	Replaced []string // headers that were left out because the client decides on them, each once
	Notes    []string
}

// A Request is one as it was recorded: nothing in it is a placeholder.
type Request struct {
	targets.Step
	BodyFile string
	Where    string   // for errors
	Notes    []string // comments on it
	Secrets  []string // what was left out of it as a secret
	Replaced []string // what was left out of it because the client decides on it
}

// Size is about what a request takes in a workload file.
func (r Request) Size() int {
	n := len(r.URL) + len(r.Body)
	for _, h := range r.Headers {
		n += len(h.Name) + len(h.Value)
	}
	return n
}

// Add makes a step of a request.
func (f *File) Add(r Request) (Step, error) {
	s := Step{Step: r.Step, BodyFile: r.BodyFile, Notes: slices.Clone(r.Notes), Secrets: slices.Clone(r.Secrets), Replaced: slices.Clone(r.Replaced)}
	s.URL, s.Body = Literal(r.URL), []byte(Literal(string(r.Body)))
	s.Headers = nil
	for _, h := range r.Headers {
		s.Headers = append(s.Headers, targets.Header{Name: h.Name, Value: Literal(h.Value)})
	}
	s.fill(f.placeholder)
	return s, f.Prepare(&s, r.Where)
}

// placeholder is the filler of the steps: a token of an answer, or a secret.
func (f *File) placeholder(name, value string) (string, bool) {
	if f.Tokens != nil {
		if placeholder, ok := f.Tokens.Placeholder(value); ok {
			return placeholder, true
		}
	}
	if f.Secrets == nil {
		return "", false
	}
	return f.Secrets.placeholder(name, value)
}

// Prepare takes out of a step what does not belong into a workload, and checks it.
func (f *File) Prepare(s *Step, where string) error {
	s.URL, _, _ = strings.Cut(s.URL, "#")
	if begin, rest, ok := credentials(s.URL); ok {
		s.URL = begin + rest
		s.leaveOut("user and password of the URL")
	}
	var kept []targets.Header
	for _, h := range s.Headers {
		switch parsed, err := targets.ParseHeader(h.Name + ":" + h.Value); {
		case strings.HasPrefix(h.Name, ":") || sameAnyway(s.URL, h):
		case setByClient(h.Name):
			s.Replaced = Once(s.Replaced, http.CanonicalHeaderKey(h.Name))
		case h.Secret():
			s.leaveOut(http.CanonicalHeaderKey(h.Name) + instead(h))
		case (err != nil || !utf8.ValidString(h.Value)) && f.Lenient:
			s.Notes = append(s.Notes, fmt.Sprintf("left out, as its name or its value has characters that no header may have: %s", printable.Clip(strconv.Quote(h.Name), 40)))
		case err != nil || !utf8.ValidString(h.Value):
			return fmt.Errorf("%s: header %.40q: its name or its value has characters that no header may have; remove it", where, h.Name)
		default:
			kept = append(kept, parsed)
		}
	}
	s.Headers = kept
	switch {
	case !utf8.ValidString(s.URL):
		return fmt.Errorf("%s: the URL is no UTF-8 text; write its other bytes as %%XX", where)
	case !utf8.Valid(s.Body):
		return fmt.Errorf("%s: the body is no UTF-8 text; save it to a file, and give that to body_file in the workload", where)
	}
	checked := s.Step
	checked.Name = cmp.Or(s.Name, "a") // it may get its name later
	var taken []string
	if f.Tokens != nil {
		taken = f.Tokens.Names()
	}
	if err := wire.CheckStep((targets.Spec{Data: f.Secrets.data()}), checked, taken...); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

// Begin sets the base, from the URL of the first step if there is no other.
func (f *File) Begin(base string) {
	for _, flow := range f.Flows {
		for _, s := range flow.Steps {
			if f.From == "" {
				f.From = Origin(s.URL)
			}
		}
	}
	f.base = strings.TrimRight(cmp.Or(base, f.From), "/")
}

// short returns a URL without the base.
func (f *File) short(raw string) string {
	rest, ok := strings.CutPrefix(raw, f.From)
	switch {
	case !ok || rest != "" && rest[0] != '/' && rest[0] != '?':
		return raw
	case rest == "":
		return "/"
	}
	return rest
}

// Origin returns scheme and host of a URL.
func Origin(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return scheme + "://" + rest
}

// credentials splits a URL around its user and password.
func credentials(raw string) (begin, rest string, ok bool) {
	whole := Origin(raw)
	scheme, authority, _ := strings.Cut(whole, "://")
	i := strings.LastIndexByte(authority, '@')
	if whole == "" || i < 0 {
		return "", "", false
	}
	return scheme + "://", authority[i+1:] + raw[len(whole):], true
}

// leaveOut notes that a secret was left out.
func (s *Step) leaveOut(what string) { s.Secrets = Once(s.Secrets, what) }

// Once adds a name to a list that does not have it.
func Once(list []string, what string) []string {
	what = printable.Clip(what, 60)
	if slices.Contains(list, what) {
		return list
	}
	return append(list, what)
}

// sameAnyway reports whether the client sends the same header without being told: the length of the body, or the host of
// the URL.
func sameAnyway(raw string, h targets.Header) bool {
	switch http.CanonicalHeaderKey(h.Name) {
	case "Content-Length":
		return true
	case "Host":
		scheme, host, _ := strings.Cut(Origin(raw), "://")
		port := map[string]string{"http": ":80", "https": ":443"}[scheme]
		return strings.EqualFold(strings.TrimSuffix(host, port), strings.TrimSuffix(h.Value, port))
	}
	return false
}

// setByClient reports whether the client of a run decides on a header.
func setByClient(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Accept-Encoding", "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Expect":
		return true
	}
	return false
}

// instead says what sends a header that was left out.
func instead(h targets.Header) string {
	scheme, _, _ := strings.Cut(strings.ToLower(h.Value), " ")
	if strings.EqualFold(h.Name, "Authorization") && (scheme == targets.AuthBasic || scheme == targets.AuthBearer) {
		return " (--auth " + scheme + ":@FILE gives it)"
	}
	return ""
}

// Literal returns a text that a workload file sends as it is.
func Literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// Names makes names that are unique. The zero value has given none.
type Names struct {
	seen map[string]bool
	last map[string]int // the number at the end of the last one of a name
}

// Of returns a name of up to 64 bytes.
func (n *Names) Of(name string) string {
	if n.seen == nil {
		n.seen, n.last = map[string]bool{}, map[string]int{}
	}
	unique := name
	for n.seen[unique] {
		n.last[name] = max(2, n.last[name]+1)
		number := fmt.Sprintf(" %d", n.last[name])
		unique = strings.ToValidUTF8(name[:min(len(name), 64-len(number))], "") + number
	}
	n.seen[unique] = true
	return unique
}

// StepName returns the name of a request.
func StepName(method, raw string) string { return workload.StepName(method, raw) }

// Plural returns a number with what it counts.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
