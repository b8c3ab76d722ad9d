package targets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/targets/template"
)

// checkRedis checks the spec of a redis or rediss target.
func checkRedis(s Spec, u *url.URL) error {
	if err := checkAddress(u); err != nil {
		return err
	}
	if s.Reply != "" {
		return errReply
	}
	if err := s.checkBare(u.Scheme); err != nil {
		return err
	}
	if _, err := redisLogin(u); err != nil {
		return err
	}
	if _, err := bareExpectation(s); err != nil {
		return err
	}
	if err := checkTrust(s); err != nil {
		return err
	}
	text, err := s.parser(nil)(string(s.Body), saltBody)
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	arguments, err := splitCommand(text)
	if err == nil {
		err = checkCommand(arguments)
	}
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return checkRouting(s)
}

// checkCommand refuses commands that a connection for requests cannot carry, because they change what later ones mean
// or have no single reply. It does not quote the command, which may have a secret.
func checkCommand(arguments []template.Text) error {
	if len(arguments) == 0 {
		return errors.New("is missing; give a command, such as -d 'GET user:${ordinal}'")
	}
	if arguments[0].Varies() {
		return errors.New("the name of the command has no placeholders; put them into its arguments")
	}
	name := strings.ToUpper(string(arguments[0].Append(nil, template.Request{})))
	switch name {
	case "AUTH", "HELLO", "SELECT":
		return fmt.Errorf("%s belongs in the URL; write redis://USER:PASSWORD@HOST:PORT/DB", name)
	case "MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH":
		return fmt.Errorf("%s makes several commands one, and a request is one command; use EVAL", name)
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "MONITOR", "SYNC", "PSYNC", "REPLCONF", "QUIT", "RESET":
		return fmt.Errorf("%s has no single reply, or ends the connection; choose another command", name)
	case "CLIENT":
		if len(arguments) > 1 && (arguments[1].Varies() || slices.Contains([]string{"REPLY", "TRACKING"}, strings.ToUpper(string(arguments[1].Append(nil, template.Request{}))))) {
			return errors.New("CLIENT REPLY and CLIENT TRACKING change what later replies are; choose another command")
		}
	}
	return nil
}

// redisLogin returns the commands that log in, as they are sent; "" if there are none. Its errors show no login.
func redisLogin(u *url.URL) (string, error) {
	var b []byte
	if u.User != nil {
		words := []string{"AUTH"}
		if name := u.User.Username(); name != "" {
			words = append(words, name)
		}
		password, given := u.User.Password()
		if !given {
			return "", errors.New("url: the login has no password; write redis://USER:PASSWORD@HOST or redis://:PASSWORD@HOST")
		}
		b = appendCommand(b, append(words, password)...)
	}
	if db := strings.Trim(u.Path, "/"); db != "" && db != "0" {
		if n, err := strconv.Atoi(db); err != nil || n < 0 || n > 1<<20 {
			return "", errors.New("url: after the host comes the number of a database, as in redis://HOST:6379/2")
		}
		b = appendCommand(b, "SELECT", db)
	}
	return string(b), nil
}

// newRedisRules returns the rules of a valid spec: one command to a Redis, over RESP2, and its reply, at
// redis://[USER:PASSWORD@]HOST[:PORT][/DB], or rediss:// with TLS. Each connection carries one command at a time.
//
// A client library would send commands again, cannot be stopped just before the first byte, and makes room for as many
// elements as a server announces.
func newRedisRules(s Spec, tables Tables) (rawRules, error) {
	r, u, err := newBareRules(s)
	if err != nil {
		return r, err
	}
	r.to.use, r.answers = useRedis, true
	if u.Scheme == "rediss" {
		r.to.name = u.Hostname()
	}
	if r.to.login, err = redisLogin(u); err != nil {
		return r, err
	}
	if r.expect, err = bareExpectation(s); err != nil {
		return r, err
	}
	text, err := s.parser(tables)(string(s.Body), saltBody)
	if err != nil {
		return r, fmt.Errorf("body: %w", err)
	}
	arguments, err := splitCommand(text)
	if err != nil {
		return r, fmt.Errorf("body: %w", err)
	}
	limit, content := s.bodyLimit(), r.expect.limits.Content
	r.newReply = func() reading { return newRedisReading(limit, content) }
	r.pay(text.Varies(), func(b []byte, r template.Request) []byte {
		b = appendSize(b, '*', len(arguments))
		for _, a := range arguments {
			b = appendArgument(b, func(b []byte) []byte { return a.Append(b, r) })
		}
		return b
	})
	return r, nil
}

// appendCommand appends a command.
func appendCommand(b []byte, words ...string) []byte {
	b = appendSize(b, '*', len(words))
	for _, word := range words {
		b = appendArgument(b, func(b []byte) []byte { return append(b, word...) })
	}
	return b
}

// appendSize appends a number of elements or bytes.
func appendSize(b []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(b, kind), int64(n), 10), "\r\n"...)
}

// appendArgument appends what fill appends, behind its length.
func appendArgument(b []byte, fill func(b []byte) []byte) []byte {
	at := len(b)
	b = fill(b)
	var room [24]byte
	n := len(b) - at
	size := appendSize(room[:0], '$', n)
	b = append(b, size...)
	copy(b[at+len(size):], b[at:at+n])
	copy(b[at:], size)
	return append(b, "\r\n"...)
}

// logIn sends the commands of a login on a connection that was just opened, and reads their replies.
func logIn(c io.ReadWriter, login string) error {
	if _, err := io.WriteString(c, login); err != nil {
		return err
	}
	// Commands look like replies, so a reading finds their ends.
	r := newRedisReading(DefaultBodyLimit, 0)
	for rest := []byte(login); len(rest) > 0; {
		r.begin()
		used, _, err := r.feed(rest)
		if err != nil {
			return err
		}
		rest = rest[used:]
		if _, err := ask(c, nil); err != nil {
			return err
		}
	}
	return nil
}

// ask sends a command, if there is one, and returns the reply to it, byte by byte: so nothing behind it is lost. It is
// for a few short commands, not for requests.
func ask(c io.ReadWriter, command []byte) (string, error) {
	if len(command) > 0 {
		if _, err := c.Write(command); err != nil {
			return "", err
		}
	}
	r := newRedisReading(DefaultBodyLimit, longBuffer)
	r.begin()
	for one := make([]byte, 1); ; {
		if _, err := c.Read(one); err != nil {
			return "", err
		}
		switch _, done, err := r.feed(one); {
		case err != nil:
			return "", err
		case r.refusal() != "":
			return "", replyError{r.refusal()}
		case done:
			return string(r.content), nil
		}
	}
}

// A replyError is an error that a Redis replied. Its text is not told: it may quote an argument.
type replyError struct{ name string }

func (e replyError) Error() string { return "the server refuses: " + e.name }

func (e replyError) class() string { return e.name }

// A RedisServer is one that requests go to.
type RedisServer struct {
	ID      string // its run_id; "" if it does not tell
	Version string // the same
	Address string // of the connection
}

// RunID returns the run_id in what INFO server answers; "" if there is none.
func RunID(info string) string { return infoField(info, "run_id") }

// infoField returns a field of what INFO answers; "" if there is none.
func infoField(info, name string) string {
	_, value, _ := strings.Cut("\n"+info, "\n"+name+":")
	value, _, _ = strings.Cut(value, "\r")
	return value
}

// logIn sends the commands of a login, if there are some.
func (p *probe) logIn() error {
	if p.to.login == "" {
		return nil
	}
	if err := logIn(p, p.to.login); err != nil {
		return fmt.Errorf("log in to %s: %w", p.to.address, err)
	}
	return nil
}

// server asks the server of a connection who it is. A server that refuses to tell is a replyError; its address is known.
func (p *probe) server() (RedisServer, error) {
	server := RedisServer{Address: p.RemoteAddr().String()}
	text, err := ask(p, appendCommand(nil, "INFO", "server"))
	if err == nil {
		server.ID, server.Version = RunID(text), infoField(text, "redis_version")
	}
	return server, err
}

// RedisServers asks the servers of Redis that requests go to who they are, each once. It fails if one cannot be reached. ctx
// must have a deadline.
func (s Spec) RedisServers(ctx context.Context, local Local) (all []RedisServer, err error) {
	asked := map[endpoint]bool{}
	for _, one := range s.steps() {
		_, u, err := one.kind()
		if err != nil {
			return nil, err
		}
		if u.Scheme != "redis" && u.Scheme != "rediss" {
			continue
		}
		rules, err := newRedisRules(one, local.Tables)
		if err != nil {
			return nil, err
		}
		if asked[rules.to] {
			continue
		}
		asked[rules.to] = true
		d, err := newDialer(s, local)
		if err != nil {
			return nil, err
		}
		server, err := d.redis(ctx, rules.to)
		if err != nil {
			return nil, err
		}
		all = append(all, server)
	}
	return all, nil
}

// redis asks a server on a connection of its own.
func (d *dialer) redis(ctx context.Context, to endpoint) (RedisServer, error) {
	p, err := d.dial(ctx, to)
	if err != nil {
		return RedisServer{}, err
	}
	defer p.Close()
	if err := p.logIn(); err != nil {
		return RedisServer{}, err
	}
	server, _ := p.server() // without an answer its address tells who it is
	return server, nil
}

// splitCommand splits the line of a command as redis-cli does: at spaces, with 'single' and "double" quotes, and \n,
// \r, \t, \b, \a and \xHH in double ones. A placeholder is never split, whatever it is filled with.
func splitCommand(t template.Text) ([]template.Text, error) {
	var s splitter
	literals := t.Literals()
	for i, literal := range literals {
		if err := s.literal(literal); err != nil {
			return nil, err
		}
		if i == len(literals)-1 {
			break
		}
		if s.closed {
			return nil, errQuote
		}
		s.flush()
		s.argument, s.open = s.argument.Then(t.Placeholder(i)), true
	}
	if s.quote != 0 {
		return nil, errors.New("a quote is not closed; close it, or write \\\" for the character")
	}
	s.end()
	return s.all, nil
}

// errQuote is what redis-cli refuses too.
var errQuote = errors.New("behind a closing quote comes a space; put the whole argument in quotes")

// A splitter is where splitCommand is.
type splitter struct {
	all      []template.Text
	argument template.Text // what there is of it
	text     []byte        // the literal at its end
	open     bool          // there is an argument, maybe an empty one
	quote    byte          // that is open; 0 = none
	closed   bool          // a quote was just closed
}

// flush moves the literal into the argument.
func (s *splitter) flush() {
	s.argument, s.text = s.argument.Then(template.Literal(string(s.text))), s.text[:0]
}

// end ends the argument, if there is one.
func (s *splitter) end() {
	if s.flush(); s.open {
		s.all = append(s.all, s.argument)
	}
	s.argument, s.open, s.closed = template.Text{}, false, false
}

// literal takes text between placeholders.
func (s *splitter) literal(text string) error {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case s.quote == 0 && bytes.IndexByte([]byte(" \t\n\r\v\f"), c) >= 0:
			s.end()
		case s.closed:
			return errQuote
		case s.quote == 0 && !s.open && (c == '"' || c == '\''):
			s.quote, s.open = c, true
		case c == s.quote && c != 0:
			s.quote, s.closed = 0, true
		case s.quote == '"' && c == '\\' && i+1 < len(text):
			i += s.escaped(text[i+1:])
		case s.quote == '\'' && strings.HasPrefix(text[i:], `\'`):
			s.text = append(s.text, '\'')
			i++
		default:
			s.text, s.open = append(s.text, c), true
		}
	}
	return nil
}

// escaped takes what follows a backslash, and returns how many bytes that are.
func (s *splitter) escaped(text string) int {
	if text[0] == 'x' && len(text) > 2 {
		if n, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
			s.text = append(s.text, byte(n))
			return 3
		}
	}
	c := text[0]
	if i := strings.IndexByte("nrtba", c); i >= 0 {
		c = "\n\r\t\b\a"[i]
	}
	s.text = append(s.text, c)
	return 1
}
