package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loadctl/loadctl/internal/fleet/run"
)

// ReadAtMost reads a file of at most so many bytes. It reads no more than one byte beyond, so a device without an end is
// an error too.
func ReadAtMost(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, Readable(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, Readable(err)
	}
	if int64(len(content)) > most {
		return nil, fmt.Errorf("%.200s is larger than %d MiB; divide it", path, most>>20)
	}
	return content, nil
}

// File is the path of a file that is written completely or not at all. It gets its name when all is written, so nobody
// ever sees half of it. An existing file stays until then.
type File string

// Check finds out whether a file that a flag names can be written, and leaves nothing behind: better now than after an
// hour of load. "" means no file, which is fine.
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

// Try finds out whether a file can be made in the directory, and leaves nothing behind. The error does not name the
// directory.
func (f File) Try() error {
	t, err := f.create()
	if err != nil {
		return err
	}
	return bare(errors.Join(t.Close(), os.Remove(t.Name())))
}

// Write replaces the file in one step. Its permissions stay the same.
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

// create makes the file under a temporary name.
func (f File) create() (*os.File, error) {
	name := filepath.Join(filepath.Dir(string(f)), "."+filepath.Base(string(f))+"."+run.NewID())
	t, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // less what the umask takes, as any file
	return t, bare(err)
}

// bare returns an error without that name, which nobody asked for.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// Readable adds to an error about a file what to do.
func Readable(err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%w; give the path of a file that can be read", err)
	}
	return err
}
