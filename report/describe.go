package report

import (
	"regexp"
	"strings"
	"time"
)

// A Setting is the target of a run, and the flags that describe the run.
type Setting struct {
	Method string `json:"method"` // of each request; "" = the target has none, or it is unknown
	URL    string `json:"url"`    // without user and password; "" = unknown

	// Flags are the arguments of loadctl run or loadworker run that describe the run, in order: only those that differ
	// from the defaults. The values of those in Withheld are replaced: secrets by a placeholder, long bodies and
	// certificates by their size and SHA-256, a file of flows by what it says of the run.
	Flags    []string `json:"flags"`
	Withheld []string `json:"withheld"`
}

// A Description holds what there is to know about a run beside its figures, to understand and repeat it years later.
type Description struct {
	Setting
	CreatedBy  string    `json:"created_by"`  // program and version; "" = unknown
	ReportedBy string    `json:"reported_by"` // likewise
	Redis      string    `json:"redis"`       // version of the server at the time of the report; "" = unknown, as of the embedded one
	Hosts      int       `json:"hosts"`       // number of machines with workers, by host name
	Commands   []Command `json:"commands"`    // the last commands given to the run, oldest first

	// Trace says what the trace ids of requests are made of; nil = they carry none. TraceURL is where the trace of a request
	// can be seen: ${trace_id} in it stands for the id; "" = unknown.
	Trace    *Trace `json:"trace,omitempty"`
	TraceURL string `json:"trace_url,omitempty"`
}

// A Trace says what the trace ids of a run are made of. The id of a request is the first 16 bytes of
//
//	SHA-256(key "/" ordinal)
//
// In a closed loop it is that of key "/" worker "/" ordinal: there each worker counts its own requests.
type Trace struct {
	Key     string  `json:"key"`     // the uid of the run
	Sampled float64 `json:"sampled"` // share of traces that the endpoint was asked to record, 0…1
}

// A Command is a command that changed a run.
type Command struct {
	At      time.Time `json:"at"`      // Redis clock
	Command string    `json:"command"` // as loadctl calls it; deadman = the dead-man's switch stopped the run
	Who     string    `json:"who"`     // user@host
	What    string    `json:"what"`    // the result, such as a rate; may be empty
}

// Target returns the method and the URL, for people.
func (s Setting) Target() string { return strings.TrimSpace(s.Method + " " + s.URL) }

// Line returns the flags as shell words, without those that Target contains.
func (s Setting) Line() string {
	var words []string
	for i := 0; i < len(s.Flags); i++ {
		if s.Flags[i] == "--url" || s.Flags[i] == "--method" {
			i++ // the flag's value
			continue
		}
		words = append(words, Quoted(s.Flags[i]))
	}
	return strings.Join(words, " ")
}

// plainWord matches words that a shell leaves unchanged.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Quoted quotes a word for a shell.
func Quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// described returns d with the number of hosts of these workers, and with empty arrays instead of nil. A worker without
// a host name counts as a host of its own.
func (d Description) described(workers []WorkerInput) Description {
	hosts := map[string]bool{}
	for _, w := range workers {
		host := "worker " + w.ID
		if w.Total != nil && w.Total.Host != "" {
			host = w.Total.Host
		}
		hosts[host] = true
	}
	d.Hosts = len(hosts)
	d.Flags, d.Withheld = append([]string{}, d.Flags...), append([]string{}, d.Withheld...)
	d.Commands = append([]Command{}, d.Commands...)
	return d
}
