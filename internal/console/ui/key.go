package ui

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// minKey is the least number of bytes of a key.
const minKey = 32

// leastToken is the least length of the token of /metrics.
const leastToken = 16

// NewKey returns a key that nobody else knows.
func NewKey() []byte { return []byte(random()) }

// Key reads the key in a file; "" = the usual one. If there is no such file, it makes one that only its owner can read.
// Several servers may do that at the same time: all get the same key.
func Key(path string) ([]byte, error) {
	if path == "" {
		var err error
		if path, err = usualKey(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return nil, fmt.Errorf("others can read %s; forbid it (chmod 600), or remove the file", path)
	}
	text, err := os.ReadFile(path)
	if err == nil && len(text) < minKey {
		err = fmt.Errorf("%s has less than %d bytes; remove it, and a new one is made", path, minKey)
	}
	return text, err
}

// makeKey writes a new key, complete or not at all, and never over another one.
func makeKey(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(random())
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

// usualKey returns the path of the key among the files that programs keep for themselves.
func usualKey() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "loadctl", "ui.key"), nil
}

// ReadToken reads the token of /metrics, the file of --metrics-token-file. It may change while the server runs.
func ReadToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("--metrics-token-file: %w; give a file with the token", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < leastToken {
		return "", fmt.Errorf("--metrics-token-file %.200s: the token has less than %d characters; make one with: openssl rand -hex 32", path, leastToken)
	}
	return token, nil
}
