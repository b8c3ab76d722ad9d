package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loadctl/loadctl/internal/run"
)

// File is the path of a file that is written whole or not at all: it gets its name when everything is in it, so that nobody ever sees a half of
// it, and what was there before stays until then.
type File string

// Check finds out whether a file that a flag names can be written, and leaves nothing: better now than after an hour of load. "" is no file, and
// good.
func (f File) Check(flag string) error {
	if f == "" {
		return nil
	}
	if info, err := os.Stat(string(f)); err == nil && !info.Mode().IsRegular() {
		return Config(fmt.Errorf("--%s %.200q: is no regular file; give the path of one, or leave --%s away", flag, string(f), flag))
	}
	if err := f.Try(); err != nil {
		return Config(fmt.Errorf("--%s %.200q: %w; give a file in a directory that is there and can be written to", flag, string(f), err))
	}
	return nil
}

// Try finds out whether the file's directory takes one, and leaves nothing. The error does not say which.
func (f File) Try() error {
	t, err := f.create()
	if err != nil {
		return err
	}
	return bare(errors.Join(t.Close(), os.Remove(t.Name())))
}

// Write replaces the file in one step. Who may read it stays the same.
func (f File) Write(data []byte) error {
	t, err := f.create()
	if err != nil {
		return fmt.Errorf("write %s: %w", f, err)
	}
	_, err = t.Write(data)
	if old, missing := os.Stat(string(f)); missing == nil {
		err = cmp.Or(err, t.Chmod(old.Mode().Perm()))
	}
	err = cmp.Or(err, t.Sync())
	if err = cmp.Or(err, t.Close()); err == nil {
		err = os.Rename(t.Name(), string(f))
	}
	if err != nil {
		_ = os.Remove(t.Name()) // the first error tells more
		return fmt.Errorf("write %s: %w", f, bare(err))
	}
	return nil
}

// create makes the file under the name that it has until it is whole.
func (f File) create() (*os.File, error) {
	name := filepath.Join(filepath.Dir(string(f)), "."+filepath.Base(string(f))+"."+run.NewID())
	t, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // less what the umask takes, as any file
	return t, bare(err)
}

// bare is an error without that name: nobody asked for it.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
