package importer

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

// A file is a workload file before it is written.
type file struct {
	notes   []string // comments at its top
	base    string   // without a slash at its end
	headers []targets.Header
	mixed   bool // the flows have weights
	cookies bool // flows keep those of their answers
	lenient bool // a header that is not valid is left out
	flows   []flow

	takes   *takes   // nil = answers are not known
	secrets *secrets // nil = they stay where they are

	from string // the beginning of URLs that base replaces: scheme and host
}

// A flow has one step or more.
type flow struct {
	name   string
	weight int64
	steps  []step
}

// A step is a request of which placeholders are written as in a workload file.
type step struct {
	targets.Step
	together bool // it is due with the step before it
	bodyFile string
	secrets  []string // headers that were left out, each once
	replaced []string // headers that were left out because the client decides on them, each once
	notes    []string
}

// A request is one as it was recorded: nothing in it is a placeholder.
type request struct {
	targets.Step
	bodyFile string
	where    string   // for errors
	notes    []string // comments on it
	secrets  []string // what was left out of it as a secret
	replaced []string // what was left out of it because the client decides on it
}

// size is about what a request takes in a workload file.
func (r request) size() int {
	n := len(r.URL) + len(r.Body)
	for _, h := range r.Headers {
		n += len(h.Name) + len(h.Value)
	}
	return n
}

// add makes a step of a request.
func (f *file) add(r request) (step, error) {
	s := step{Step: r.Step, bodyFile: r.bodyFile, notes: slices.Clone(r.notes), secrets: slices.Clone(r.secrets), replaced: slices.Clone(r.replaced)}
	s.URL, s.Body = literal(r.URL), []byte(literal(string(r.Body)))
	s.Headers = nil
	for _, h := range r.Headers {
		s.Headers = append(s.Headers, targets.Header{Name: h.Name, Value: literal(h.Value)})
	}
	s.fill(f.placeholder)
	return s, f.prepare(&s, r.where)
}

// placeholder is the filler of the steps: a token of an answer, or a secret.
func (f *file) placeholder(name, value string) (string, bool) {
	if f.takes != nil {
		if placeholder, ok := f.takes.placeholder(value); ok {
			return placeholder, true
		}
	}
	if f.secrets == nil {
		return "", false
	}
	return f.secrets.placeholder(name, value)
}

// prepare takes out of a step what does not belong into a workload, and checks it.
func (f *file) prepare(s *step, where string) error {
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
			s.replaced = once(s.replaced, http.CanonicalHeaderKey(h.Name))
		case h.Secret():
			s.leaveOut(http.CanonicalHeaderKey(h.Name) + instead(h))
		case (err != nil || !utf8.ValidString(h.Value)) && f.lenient:
			s.notes = append(s.notes, fmt.Sprintf("left out, as its name or its value has characters that no header may have: %s", printable.Clip(strconv.Quote(h.Name), 40)))
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
	if f.takes != nil {
		taken = f.takes.names
	}
	if err := wire.CheckStep((targets.Spec{Data: f.secrets.data()}), checked, taken...); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}

// begin sets the base, from the URL of the first step if there is no other.
func (f *file) begin(base string) {
	for _, flow := range f.flows {
		for _, s := range flow.steps {
			if f.from == "" {
				f.from = origin(s.URL)
			}
		}
	}
	f.base = strings.TrimRight(cmp.Or(base, f.from), "/")
}

// short returns a URL without the base.
func (f *file) short(raw string) string {
	rest, ok := strings.CutPrefix(raw, f.from)
	switch {
	case !ok || rest != "" && rest[0] != '/' && rest[0] != '?':
		return raw
	case rest == "":
		return "/"
	}
	return rest
}

// origin returns scheme and host of a URL.
func origin(raw string) string {
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
	whole := origin(raw)
	scheme, authority, _ := strings.Cut(whole, "://")
	i := strings.LastIndexByte(authority, '@')
	if whole == "" || i < 0 {
		return "", "", false
	}
	return scheme + "://", authority[i+1:] + raw[len(whole):], true
}

// leaveOut notes that a secret was left out.
func (s *step) leaveOut(what string) { s.secrets = once(s.secrets, what) }

// once adds a name to a list that does not have it.
func once(list []string, what string) []string {
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
		scheme, host, _ := strings.Cut(origin(raw), "://")
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

// literal returns a text that a workload file sends as it is.
func literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// names makes names that are unique. The zero value has given none.
type names struct {
	seen map[string]bool
	last map[string]int // the number at the end of the last one of a name
}

// of returns a name of up to 64 bytes.
func (n *names) of(name string) string {
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

// stepName returns the name of a request.
func stepName(method, raw string) string { return workload.StepName(method, raw) }

// plural returns a number with what it counts.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
