package report

import (
	"regexp"
	"strings"
	"time"
)

// A Setting is what a run fires at, and the flags that describe it.
type Setting struct {
	Method string `json:"method"` // of each request; "" = the target has none, or it is not known
	URL    string `json:"url"`    // without user and password; "" = not known

	// Flags are the arguments of loadctl run or loadworker run that describe the run, in their order: only what differs from the
	// defaults. Those that Withheld names have something else in place of their value: a secret is replaced, and a body or
	// certificates that are long are told by their size and SHA-256.
	Flags    []string `json:"flags"`
	Withheld []string `json:"withheld"`
}

// A Description is what there is to know about a run beside its figures, so that it can be understood and repeated years later.
type Description struct {
	Setting
	CreatedBy  string    `json:"created_by"`  // program and version; "" = not known
	ReportedBy string    `json:"reported_by"` // likewise
	Redis      string    `json:"redis"`       // version of the server at the time of the report; "" = it does not tell, as the embedded one
	Hosts      int       `json:"hosts"`       // machines with workers, by their host names
	Commands   []Command `json:"commands"`    // the last ones that were given to the run, oldest first
}

// A Command is one that changed a run.
type Command struct {
	At      time.Time `json:"at"`      // Redis clock
	Command string    `json:"command"` // as loadctl calls it; deadman = the dead-man's switch has stopped the run
	Who     string    `json:"who"`     // user@host
	What    string    `json:"what"`    // what came of it, such as a rate; may be empty
}

// Target is the method and the URL, for people.
func (s Setting) Target() string { return strings.TrimSpace(s.Method + " " + s.URL) }

// Line is the flags but those that Target tells, as a shell takes them.
func (s Setting) Line() string {
	var words []string
	for i := 0; i < len(s.Flags); i++ {
		if s.Flags[i] == "--url" || s.Flags[i] == "--method" {
			i++ // its value
			continue
		}
		words = append(words, Quoted(s.Flags[i]))
	}
	return strings.Join(words, " ")
}

// plainWord is a word that a shell leaves as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Quoted is a word for a shell.
func Quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// described is d with the hosts of these workers, and arrays without elements where it has none. A worker that does not name its host
// counts as one of its own.
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
