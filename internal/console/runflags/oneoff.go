package runflags

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/units"
	"github.com/loadctl/loadctl/targets"
)

// OneOff returns the command line of one worker that sends the load that the flags of c describe, with its own Redis.
// Secrets are not shown.
func (f *Spec) OneOff(c *cobra.Command) string {
	words := []string{"loadworker", "run"}
	add := func(flag *pflag.Flag) {
		if flag.Changed && !needsOthers(flag.Name) {
			words = append(words, f.words(flag)...)
		}
	}
	f.set.SortFlags = false // as --help of this package declares them: what is requested, how often, how long
	f.set.VisitAll(add)
	for _, name := range []string{"output", "out"} {
		if flag := c.Flags().Lookup(name); flag != nil {
			add(flag)
		}
	}
	return strings.Join(words, " ")
}

// needsOthers reports whether a flag is about other workers, or about a loadctl that watches.
func needsOthers(name string) bool { return name == "min-workers" || name == "deadman" }

// words returns a flag and its values for a shell, without secrets.
func (f *Spec) words(flag *pflag.Flag) []string {
	values := []string{flag.Value.String()}
	if d, ok := flag.Value.(*cli.Duration); ok {
		values = []string{units.Length(time.Duration(*d))}
	}
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		values = list.GetSlice()
	}
	var words []string
	for _, value := range values {
		switch value = public(flag.Name, value); {
		case flag.NoOptDefVal == value:
			words = append(words, "--"+flag.Name)
		case flag.NoOptDefVal != "":
			words = append(words, "--"+flag.Name+"="+value)
		case flag.Shorthand != "":
			words = append(words, "-"+flag.Shorthand, report.Quoted(value))
		default:
			words = append(words, "--"+flag.Name, report.Quoted(value))
		}
	}
	return words
}

// public returns the value of a flag as anybody may see it. The content of a file is not shown.
func public(name, value string) string {
	if strings.HasPrefix(value, "@") {
		return value
	}
	switch name {
	case "url":
		return targets.Spec{URL: value}.Redacted().URL
	case "auth":
		return targets.Spec{Auth: value}.Redacted().Auth
	case "connect-to":
		return targets.Spec{ConnectTo: []string{value}}.Redacted().ConnectTo[0]
	case "body":
		return string(targets.Spec{Body: []byte(value)}.Redacted().Body)
	case "header":
		h, err := targets.ParseHeader(value)
		if err != nil {
			return ""
		}
		h = targets.Spec{Headers: []targets.Header{h}}.Redacted().Headers[0]
		return h.Name + ": " + h.Value
	}
	return value
}
