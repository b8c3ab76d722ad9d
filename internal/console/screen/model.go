package screen

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// A model is the state of the keyboard. It implements tea.Model; bubbletea calls it from one goroutine.
type model struct {
	screen *Screen
	asks   question
	typed  string // the answer so far
	wrong  string // what is wrong with it; "" = nothing is, as far as known
	wanted wanted
	held   held
}

// A question is what the keyboard is for.
type question int

const (
	nothing question = iota // each key is a command
	theRate                 // a rate is typed
	theStop                 // stop, yes or no
)

// wanted is the rate that a command asked for last, and when: the newest look may be older.
type wanted struct {
	rate float64 // requests per second
	at   time.Time
}

// held is the command of the space bar that was given last, and when.
type held struct {
	command string
	at      time.Time
}

// believed is how long a command is believed before a look must show what it does.
const believed = 2 * time.Second

// mostTyped bounds a typed rate.
const mostTyped = 40

// often is the time between two frames.
const often = 250 * time.Millisecond

// A tick is the time for the next frame.
type tick struct{}

func newModel(s *Screen) model { return model{screen: s} }

// Init begins to tick.
func (m model) Init() tea.Cmd { return later() }

func later() tea.Cmd { return tea.Tick(often, func(time.Time) tea.Msg { return tick{} }) }

// Update takes one message: a tick, a key or a size.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tick:
		return m, later()
	case tea.WindowSizeMsg:
		m.screen.resize(msg.Width, msg.Height)
	case tea.PasteMsg:
		if m.asks == theRate {
			m.typed, m.wrong = typed(m.typed, msg.Content), ""
		}
	case tea.KeyPressMsg:
		return m.key(msg)
	}
	return m, nil
}

// key takes one key.
func (m model) key(k tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	switch k.String() {
	case "ctrl+c":
		if m.screen.options.Interrupt != nil {
			m.screen.options.Interrupt()
		}
		return m, nil
	case "ctrl+z":
		return m, tea.Suspend
	case "ctrl+l":
		return m, tea.ClearScreen
	}
	switch m.asks {
	case theRate:
		return m.rateKey(k), nil
	case theStop:
		m.asks = nothing
		if k.String() == "y" || k.String() == "Y" {
			m.screen.order(Order{Command: "stop"})
		} else {
			m.screen.show("not stopped", false)
		}
		return m, nil
	}
	if k.String() == "q" {
		m.screen.leave()
		return m, nil
	}
	return m.command(k.String()), nil
}

// command takes a key that changes the run, if that is possible now.
func (m model) command(key string) model {
	v := m.screen.view()
	switch key {
	case "=": // + without shift, on many keyboards
		key = "+"
	case "_":
		key = "-"
	}
	for _, k := range v.keys() {
		if k.key != key {
			continue
		}
		if k.why != "" {
			m.screen.show(k.why, true)
			return m
		}
		return m.act(key, v)
	}
	return m
}

// act does what a key stands for.
func (m model) act(key string, v view) model {
	switch key {
	case "+":
		m.step(v, 1.1)
	case "-":
		m.step(v, 0.9)
	case "r":
		m.asks, m.typed, m.wrong = theRate, "", ""
	case "s":
		m.asks = theStop
	case "space":
		m.hold(v.look.Phase == "paused")
	}
	return m
}

// hold pauses the run, or resumes it if it is paused. It counts from the command given last, as step does.
func (m *model) hold(paused bool) {
	if time.Since(m.held.at) < believed {
		paused = m.held.command == "pause"
	}
	m.held = held{map[bool]string{true: "resume", false: "pause"}[paused], time.Now()}
	m.screen.order(Order{Command: m.held.command})
}

// step changes the rate by a factor. It counts from the rate asked for last, so two presses are two steps.
func (m *model) step(v view, factor float64) {
	rate := v.rate()
	if time.Since(m.wanted.at) < believed {
		rate = m.wanted.rate
	}
	if rate == 0 {
		m.screen.show("the rate is 0; press r to type one", true)
		return
	}
	m.wanted = wanted{sixDigits(rate * factor), time.Now()}
	m.screen.order(Order{Command: "set-rate", Rate: plain(m.wanted.rate)})
}

// sixDigits rounds to six significant digits, so that steps do not collect digits.
func sixDigits(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-5)
	return math.Round(v/unit) * unit
}

// plain formats a rate as flags read it.
func plain(v float64) string { return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64) }

// rateKey takes a key of a rate that is typed.
func (m model) rateKey(k tea.KeyPressMsg) model {
	m.wrong = ""
	switch k.String() {
	case "esc":
		m.asks = nothing
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(m.typed)
		m.typed = m.typed[:len(m.typed)-size]
	case "ctrl+u":
		m.typed = ""
	case "enter":
		return m.setRate()
	default:
		m.typed = typed(m.typed, k.Text)
	}
	return m
}

// setRate sets the rate that was typed. One that cannot be read stays, so that it can be corrected.
func (m model) setRate() model {
	text := strings.Fields(strings.Replace(m.typed, " over ", " ", 1))
	if len(text) == 0 {
		m.asks = nothing
		return m
	}
	o := Order{Command: "set-rate", Rate: text[0], Over: strings.Join(text[1:], " ")}
	if check := m.screen.options.Check; check != nil {
		if err := check(o); err != nil {
			m.wrong = err.Error()
			return m
		}
	}
	m.asks, m.wanted = nothing, wanted{}
	m.screen.order(o)
	return m
}

// typed returns a text with more behind it, as far as there is room.
func typed(text, more string) string {
	for _, r := range more {
		if r >= ' ' && r < 0x7f && len(text) < mostTyped {
			text += string(r)
		}
	}
	return text
}

// resize notes the size of the terminal.
func (s *Screen) resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.width, s.height = width, height
}

// View returns the frame.
func (m model) View() tea.View {
	v := m.screen.view()
	v.asks, v.typed, v.wrong = m.asks, m.typed, m.wrong
	out := tea.NewView(strings.Join(v.full(), "\n"))
	out.AltScreen = true
	return out
}
