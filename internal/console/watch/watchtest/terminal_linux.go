package watchtest

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/loadctl/loadctl/internal/proof/await"
)

// Terminal is a pseudo-terminal: text written to its slave appears on its screen.
type Terminal struct {
	Slave  *os.File // the terminal for the program
	Screen Buffer   // what the terminal was sent so far; it ends lines with \r\n

	t      *testing.T
	master *os.File
	read   chan struct{} // closed when all has been read
}

// NewTerminal opens a terminal, for a test that runs alone because it sets TERM. It is closed with the test. With 0
// columns its size is unknown.
func NewTerminal(t *testing.T, columns uint16) *Terminal {
	t.Helper()
	t.Setenv("TERM", "xterm")
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &Terminal{t: t, Slave: slave, master: master, read: make(chan struct{})}
	p.Resize(columns)
	go func() {
		_, _ = io.Copy(&p.Screen, master) // ends with an error when the slave is closed
		close(p.read)
	}()
	t.Cleanup(func() { _, _ = slave.Close(), master.Close() })
	return p
}

// Resize gives the terminal another width.
func (p *Terminal) Resize(columns uint16) {
	p.t.Helper()
	if err := unix.IoctlSetWinsize(int(p.Slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		p.t.Fatal(err)
	}
}

// Type types a text, which the terminal also shows; a line ends with \n.
func (p *Terminal) Type(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.master, text); err != nil {
		p.t.Fatal(err)
	}
}

// Shown closes the terminal, once nobody writes to it any more, and returns all that was written, with lines that end
// with \n.
func (p *Terminal) Shown() string {
	p.t.Helper()
	_ = p.Slave.Close() // the test may have done so
	await.Closed(p.t, "the end of the terminal", p.read)
	return strings.ReplaceAll(p.Screen.String(), "\r\n", "\n")
}
