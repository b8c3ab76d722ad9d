package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/server/site"
	"github.com/loadctl/loadctl/internal/server/streams"
)

// streamFlags say which answers come as streams.
type streamFlags struct {
	sse, openai streamed
	eventLog    string

	file *os.File     // of eventLog
	log  *streams.Log // nil without streams
}

func (f *streamFlags) AddFlags(c *cobra.Command) {
	f.sse.of, f.openai.of = streams.Events, streams.Tokens
	s := c.Flags()
	s.Var(&f.sse, "sse", "answer with a stream of events by `SETTINGS`, such as first=200ms,events=50,gap=20ms±5ms. See docs/target.md#streams")
	s.Var(&f.openai, "openai", "answer as a language model does, with tokens by `SETTINGS`, such as first=200ms,tokens=50,gap=20ms±5ms")
	s.StringVar(&f.eventLog, "event-log", "", "write a line of JSON to a new `FILE` for each stream: when its request came, and when each event was written")
}

// given tells whether there are streams.
func (f *streamFlags) given() bool { return f.sse.settings != nil || f.openai.settings != nil }

// check refuses flags that do not go together.
func (f *streamFlags) check(status int) error {
	switch {
	case f.eventLog != "" && !f.given():
		return errors.New("--event-log: give --sse or --openai too, the streams that it lists")
	case f.sse.settings != nil && status != 200:
		return errors.New("--status: streams of --sse have status 200; leave it out, or give --error-share for other answers")
	}
	return nil
}

// open opens the log.
func (f *streamFlags) open() error {
	if !f.given() {
		return nil
	}
	var lines io.Writer
	if f.eventLog != "" {
		file, err := os.OpenFile(f.eventLog, os.O_WRONLY|os.O_CREATE|f.exclusive(), 0o666) // less what the umask takes, as any file
		switch {
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("--event-log: %s is there already; give the name of a new file, or remove it", f.eventLog)
		case err != nil:
			return fmt.Errorf("--event-log: %w; give the name of a file in a folder that exists", err)
		}
		f.file, lines = file, file
	}
	f.log = streams.NewLog(lines)
	return nil
}

// exclusive returns the flag that refuses a file that is there: it may be the log of another run. A device may be there.
func (f *streamFlags) exclusive() int {
	if info, err := os.Stat(f.eventLog); err == nil && !info.Mode().IsRegular() {
		return 0
	}
	return os.O_EXCL
}

// routes returns the routes of the streams.
func (f *streamFlags) routes() (all []site.Route) {
	for _, s := range []streamed{f.sse, f.openai} {
		if s.settings != nil {
			all = append(all, s.settings.Routes(f.log)...)
		}
	}
	return all
}

// close closes the log. The error says why it is not whole.
func (f *streamFlags) close() error {
	if f.file == nil {
		return nil
	}
	if err := cmp.Or(f.log.Err(), f.file.Close()); err != nil {
		return fmt.Errorf("--event-log: %w; it is not whole", err)
	}
	return nil
}

// A streamed is the value of --sse or --openai.
type streamed struct {
	of, text string
	settings *streams.Settings
}

// String implements pflag.Value.
func (s *streamed) String() string { return s.text }

// Type implements pflag.Value.
func (s *streamed) Type() string { return "settings" }

// Set implements pflag.Value.
func (s *streamed) Set(text string) error {
	settings, err := streams.Parse(text, s.of)
	if err != nil {
		return fmt.Errorf("%.60q: %w", text, err)
	}
	s.text, s.settings = text, settings
	return nil
}
