package resp

import (
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/reply"
)

// Login returns the commands that log in, as they are sent; "" if there are none. Its errors show no login.
func Login(u *url.URL) (string, error) {
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
		b = AppendCommand(b, append(words, password)...)
	}
	if db := strings.Trim(u.Path, "/"); db != "" && db != "0" {
		if n, err := strconv.Atoi(db); err != nil || n < 0 || n > 1<<20 {
			return "", errors.New("url: after the host comes the number of a database, as in redis://HOST:6379/2")
		}
		b = AppendCommand(b, "SELECT", db)
	}
	return string(b), nil
}

// LogIn sends the commands of a login on a connection that was just opened, and reads their replies.
func LogIn(c io.ReadWriter, login string) error {
	if _, err := io.WriteString(c, login); err != nil {
		return err
	}
	// Commands look like replies, so a reading finds their ends.
	r := NewReading(targets.DefaultBodyLimit, 0)
	for rest := []byte(login); len(rest) > 0; {
		r.Begin()
		used, _, err := r.Feed(rest)
		if err != nil {
			return err
		}
		rest = rest[used:]
		if _, err := Ask(c, nil); err != nil {
			return err
		}
	}
	return nil
}

// Ask sends a command, if there is one, and returns the reply to it, byte by byte: so nothing behind it is lost. It is
// for a few short commands, not for requests.
func Ask(c io.ReadWriter, command []byte) (string, error) {
	if len(command) > 0 {
		if _, err := c.Write(command); err != nil {
			return "", err
		}
	}
	r := NewReading(targets.DefaultBodyLimit, reply.LongBuffer)
	r.Begin()
	for one := make([]byte, 1); ; {
		if _, err := c.Read(one); err != nil {
			return "", err
		}
		switch _, done, err := r.Feed(one); {
		case err != nil:
			return "", err
		case r.Refusal() != "":
			return "", Error{r.Refusal()}
		case done:
			return string(r.Content()), nil
		}
	}
}

// An Error is an error that a Redis replied. Its text is not shown: it may quote an argument.
type Error struct{ Name string }

func (e Error) Error() string { return "the server refuses: " + e.Name }

// Class is the class of a request that gets this reply.
func (e Error) Class() string { return e.Name }
