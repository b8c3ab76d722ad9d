// Package resp has the commands and replies of Redis (RESP2), without sockets. A Reading finds the end of a reply as its
// bytes arrive, and never makes room for what a server only announces.
//
//	b := resp.AppendCommand(nil, "GET", "a")
//	r := resp.NewReading(1<<20, 1024)
//	r.Begin()
//	used, done, err := r.Feed(reply)
package resp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/targets/template"
)

// Check refuses commands that a connection for requests cannot carry, because they change what later ones mean
// or have no single reply. It does not quote the command, which may have a secret.
func Check(arguments []template.Text) error {
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

// AppendCommand appends a command.
func AppendCommand(b []byte, words ...string) []byte {
	b = AppendSize(b, '*', len(words))
	for _, word := range words {
		b = AppendArgument(b, func(b []byte) []byte { return append(b, word...) })
	}
	return b
}

// AppendSize appends a number of elements or bytes.
func AppendSize(b []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(b, kind), int64(n), 10), "\r\n"...)
}

// AppendArgument appends what fill appends, behind its length.
func AppendArgument(b []byte, fill func(b []byte) []byte) []byte {
	at := len(b)
	b = fill(b)
	var room [24]byte
	n := len(b) - at
	size := AppendSize(room[:0], '$', n)
	b = append(b, size...)
	copy(b[at+len(size):], b[at:at+n])
	copy(b[at:], size)
	return append(b, "\r\n"...)
}
