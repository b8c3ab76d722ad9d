package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/loadctl/loadctl/targets"
)

// mostBytes bounds a secret. Servers accept heads of 8 to 64 KiB.
const mostBytes = 64 << 10

// local returns what reads a password or a token of this machine.
func local(a targets.Auth) func(context.Context) (string, time.Duration, error) {
	next := lookEvery
	if isFixed(a.Secret) {
		next = 0
	}
	return func(context.Context) (string, time.Duration, error) {
		secret, err := read(a.Secret)
		if err != nil {
			return "", 0, err
		}
		if a.Kind == targets.AuthBearer {
			return "Bearer " + secret, next, checkToken(secret, a.Secret.String())
		}
		if !strings.Contains(secret, ":") {
			return "", 0, fmt.Errorf("%s: there is no password; it must hold USER:PASSWORD", a.Secret)
		}
		return targets.Basic(secret), next, nil
	}
}

// read reads a secret, without the line break at its end.
func read(from targets.Secret) (secret string, err error) {
	if from.Env != "" {
		secret = os.Getenv(from.Env)
		if secret == "" {
			return "", fmt.Errorf("%s: the variable is not set on this machine, or is empty; set it for each worker", from)
		}
	} else if secret, err = readFile(from.File); err != nil {
		return "", err
	}
	secret = strings.TrimRight(secret, "\r\n")
	switch {
	case secret == "":
		return "", fmt.Errorf("%s: the file is empty; put the secret there", from)
	case len(secret) > mostBytes:
		return "", fmt.Errorf("%s: is longer than %d bytes; give the secret alone", from, mostBytes)
	case strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", fmt.Errorf("%s: holds a line break or a control character; give the secret alone", from)
	}
	return secret, nil
}

// isFixed reports whether a secret never changes: nobody else can change the environment of a process, and a pipe has
// nothing more.
func isFixed(from targets.Secret) bool { return from.Env != "" || isPipe(from.File) }

// isPipe reports whether a file can be read once only, such as <(…) of a shell.
func isPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// readFile reads a file of this machine.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%w; the file must lie on each worker's machine", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, mostBytes+3)) // with a line break
	f.Close()                                               //nolint:errcheck // it was only read
	if err != nil {
		return "", fmt.Errorf("%w; the file must lie on each worker's machine", err)
	}
	return string(text), nil
}

// checkToken checks that a token can stand in a header. from says where it comes from.
func checkToken(token, from string) error {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return fmt.Errorf("%s: %w", from, errors.New("a token has no spaces and no control characters; give it alone, without Bearer"))
	}
	return nil
}
