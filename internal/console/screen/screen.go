package screen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"golang.org/x/term"

	"github.com/loadctl/loadctl/internal/fleet/results"
	"github.com/loadctl/loadctl/internal/output/printable"
)

// Options describe a screen. Run, In and Out are needed.
type Options struct {
	Run     string   // its name
	In, Out *os.File // the terminal

	// Give gives a command to the run, and returns what to show to the person. Commands are given one after the other.
	// nil = the screen is read-only.
	Give func(ctx context.Context, o Order) (string, error)

	// Check says what is wrong with the rate of an order, before it is given; nil = nothing is. It may be nil.
	Check func(o Order) error

	// Interrupt is what Ctrl-C does. nil = nothing.
	Interrupt func()

	// Quit says in a word what q does: leave. "" = leave.
	Quit string
}

// A Screen has taken over a terminal. It is safe for concurrent use.
type Screen struct {
	options Options
	program *tea.Program
	before  *term.State // of the terminal; nil = unknown
	quit    context.CancelFunc
	orders  chan Order
	left    chan struct{} // closed when the person has left
	ended   chan struct{} // closed when the program has ended

	leaving sync.Once
	closing sync.Once

	mu      sync.Mutex
	look    *results.Look // nil = nothing is known yet
	fleet   []results.Member
	trouble string    // why there is nothing newer
	said    string    // the answer to the newest command
	refused bool      // said is an error
	saidAt  time.Time // when
	log     []string  // messages of this process
	bug     error     // why the screen ended; nil = no bug
	closed  bool      // the terminal is given back
	lost    int       // older messages that were thrown away
	width   int       // of the terminal, columns
	height  int       // rows
}

// mostLog is how many messages a screen keeps until it is closed.
const mostLog = 1000

// Open takes over the terminal. Close gives it back.
func Open(o Options) *Screen {
	o.Quit = cmp.Or(o.Quit, "leave")
	ctx, cancel := context.WithCancel(context.Background())
	s := &Screen{options: o, quit: cancel, orders: make(chan Order, mostOrders), left: make(chan struct{}), ended: make(chan struct{}), width: 80, height: 24}
	s.before, _ = term.GetState(int(o.In.Fd()))
	s.program = tea.NewProgram(newModel(s), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler(), tea.WithFPS(fps))
	go s.obey(ctx)
	go func() {
		defer close(s.ended)
		_, err := s.program.Run()
		if errors.Is(err, tea.ErrProgramPanic) {
			s.fail(fmt.Errorf("show the run: %w", err))
		}
		s.leave()
	}()
	return s
}

// fps is how often bubbletea may write to the terminal each second. Keys should feel immediate; figures change at 4 Hz.
const fps = 20

// Show shows the newest look.
func (s *Screen) Show(l results.Look) {
	fleet := l.Fleet()
	slices.SortStableFunc(fleet, func(a, b results.Member) int { return a.Severity() - b.Severity() })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look, s.fleet, s.trouble = &l, fleet, ""
}

// Trouble says why there is nothing newer, until Show.
func (s *Screen) Trouble(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = why
}

// Write implements io.Writer: each line is a message of this process. Close writes all messages to the terminal, and
// later ones go there at once.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return printable.NewWriter(s.options.Out).Write(p)
	}
	s.log = append(s.log, strings.Split(strings.TrimSuffix(string(p), "\n"), "\n")...)
	if more := len(s.log) - mostLog; more > 0 {
		s.log = append([]string{}, s.log[more:]...)
		s.lost += more
	}
	return len(p), nil
}

// Left is closed when the person has left, the terminal is gone, or the screen is closed.
func (s *Screen) Left() <-chan struct{} { return s.left }

// leave notes that the person has left.
func (s *Screen) leave() { s.leaving.Do(func() { close(s.left) }) }

// closePatience is how long a terminal may take to take what is left. One that hangs, by Ctrl-S, takes nothing.
const closePatience = 2 * time.Second

// Close gives the terminal back, and leaves the last frame and all messages on it. It returns the error if the screen had
// a bug. Later calls do nothing.
func (s *Screen) Close() (bug error) {
	s.closing.Do(func() {
		s.quit()
		go s.program.Quit() // waits for a program that hangs
		select {
		case <-s.ended:
			s.leaveBehind(s.options.Out)
		case <-time.After(closePatience):
			if s.before != nil {
				_ = term.Restore(int(s.options.In.Fd()), s.before)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		bug = s.bug
	})
	return bug
}

// fail ends the screen because of a bug.
func (s *Screen) fail(bug error) {
	s.mu.Lock()
	s.bug = bug
	s.mu.Unlock()
	s.leave()
}

// leaveBehind writes the last frame and the messages. A terminal that is gone does not take them.
func (s *Screen) leaveBehind(to io.Writer) {
	v := s.view()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if v.look != nil {
		_, _ = lipgloss.Fprintln(to, strings.Join(v.last(), "\n"))
	}
	if s.lost > 0 {
		fmt.Fprintf(to, "%d older messages are not shown\n", s.lost)
	}
	for _, line := range v.log {
		printable.Fprintf(to, "%s\n", line)
	}
}

// saidFor is how long the answer to a command stays.
const saidFor = 10 * time.Second

// view returns what there is to show now.
func (s *Screen) view() view {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.said
	if time.Since(s.saidAt) > saidFor {
		said = ""
	}
	return view{
		run: s.options.Run, quit: s.options.Quit, look: s.look, fleet: s.fleet, trouble: s.trouble, said: said, refused: s.refused, log: s.log,
		width: s.width, height: s.height, readOnly: s.options.Give == nil, inks: newInks(),
	}
}
