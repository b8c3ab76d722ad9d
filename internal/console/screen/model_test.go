package screen

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/orders"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// pressed returns the key of a name.
func pressed(name string) tea.KeyPressMsg {
	switch name {
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "backspace":
		return tea.KeyPressMsg{Code: tea.KeyBackspace}
	case "ctrl+c":
		return tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	}
	r := []rune(name)[0]
	return tea.KeyPressMsg{Code: r, Text: name}
}

// press presses keys, and returns the orders that they gave.
func press(t *testing.T, s *Screen, keys ...string) (orders []Order) {
	t.Helper()
	var m tea.Model = newModel(s)
	for _, k := range keys {
		m, _ = m.Update(pressed(k))
	}
	for len(s.orders) > 0 {
		orders = append(orders, <-s.orders)
	}
	return orders
}

// TestKeys: keys become orders; two presses are two steps; what is not possible gives none, and says why.
func TestKeys(t *testing.T) {
	t.Parallel()
	rate := func(r string) Order { return Order{Command: "set-rate", Rate: r} }
	for _, c := range []struct {
		name   string
		change func(s *Screen)
		keys   []string
		want   []Order
		says   string
	}{
		{"more", nil, []string{"+"}, []Order{rate("880")}, "set-rate …"},
		{"more twice", nil, []string{"+", "="}, []Order{rate("880"), rate("968")}, ""},
		{"less", nil, []string{"-", "_"}, []Order{rate("720"), rate("648")}, ""},
		{"flows of three requests", func(s *Screen) { s.look.StepsPerFlow = 3 }, []string{"+"}, []Order{rate("2640")}, ""},
		{"rate 0", func(s *Screen) { s.look.Rate, s.look.RateThen = 0, 0 }, []string{"+"}, nil, "the rate is 0; press r to type one"},
		{"typed", nil, []string{"r", "2", "k", "enter"}, []Order{rate("2k")}, ""},
		{"typed with a time", nil, []string{"r", "9", "backspace", "5", " ", "3", "s", "enter"}, []Order{{"set-rate", "5", "3s"}}, ""},
		{"typed with over", nil, strings.Split("r5 over 3s\r", ""), []Order{{"set-rate", "5", "3s"}}, ""},
		{"typed nothing", nil, []string{"r", "enter", "-"}, []Order{rate("720")}, ""},
		{"left", nil, []string{"r", "5", "esc", "enter"}, nil, ""},
		{"stop", nil, []string{"s", "y"}, []Order{{Command: "stop"}}, "stop …"},
		{"no stop", nil, []string{"s", "+", "y"}, nil, "not stopped"},
		{"pause", nil, []string{" "}, []Order{{Command: "pause"}}, ""},
		{"resume", func(s *Screen) { s.look.Phase = "paused" }, []string{" "}, []Order{{Command: "resume"}}, ""},
		{"pause and resume", nil, []string{" ", " ", " "}, []Order{{Command: "pause"}, {Command: "resume"}, {Command: "pause"}}, ""},
		{"read-only", func(s *Screen) { s.options.Give = nil }, []string{"+", "s", "y", " ", "r"}, nil, "this screen is read-only; leave out --read-only to give commands"},
		{"over", func(s *Screen) { s.look.Phase = "stopped" }, []string{"s", "y"}, nil, "the run is over"},
		{"waiting", func(s *Screen) { s.look.Phase = "waiting" }, []string{" "}, nil, "the run has not begun"},
		{"closed loop", func(s *Screen) { s.look.Report.ClosedLoop = true }, []string{"+", "r", "5", "enter"}, nil, "a closed loop has no rate"},
		{"concurrency", func(s *Screen) { s.look.Report.ClosedLoop, s.look.Concurrency = true, 8 }, []string{"+", "r", "5", "enter"}, nil,
			"the run has a number of requests in flight, no rate; loadctl set-rate RUN c=N changes it"},
		{"nothing known", func(s *Screen) { s.look = nil }, []string{"+", " ", "s", "y"}, nil, "Redis has not answered yet"},
	} {
		s := tenMinutes(t, 20, 80, 24)
		s.options.Give = func(context.Context, Order) (string, error) { return "", nil }
		if c.change != nil {
			c.change(s)
		}
		keys := slices.Clone(c.keys)
		for i, k := range keys {
			keys[i] = map[bool]string{true: "enter", false: k}[k == "\r"]
		}
		got := press(t, s, keys...)
		if !slices.Equal(got, c.want) || c.says != "" && s.said != c.says {
			t.Errorf("%s: %+v, want %+v; it says %q, want %q", c.name, got, c.want, s.said, c.says)
		}
	}
}

// TestConcurrencyOnScreen asserts that a closed loop shows how many requests are in flight, if it has such a number.
func TestConcurrencyOnScreen(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "max (closed loop)", 8: "c=8 in flight"} {
		s := tenMinutes(t, 20, 80, 24)
		s.look.Report.ClosedLoop, s.look.Concurrency = true, n
		if got := ansi.Strip(strings.Join(s.view().full(), "\n")); !strings.Contains(got, want) || n > 0 && strings.Contains(got, "max (") {
			t.Errorf("c=%d: %s", n, got)
		}
	}
}

// TestWrongRate: a rate that cannot be read stays in the prompt, with the reason, until it is corrected or left.
func TestWrongRate(t *testing.T) {
	t.Parallel()
	s := tenMinutes(t, 20, 80, 24)
	s.options.Give = func(context.Context, Order) (string, error) { return "", nil }
	s.options.Check = func(o Order) error {
		_, err := orders.ParseRate(o.Rate, o.Over)
		return err
	}
	for _, c := range []struct {
		keys        []string
		want        []Order
		line, below string // the prompt, and what stands below it
	}{
		{[]string{"r"}, nil, "rate of the whole cluster:", "enter sets the rate   esc leaves it as it is"},
		{[]string{"r", "2", "x", "enter"}, nil, "rate of the whole cluster: 2x", `rate "2x": not a number of requests per second; write 500`},
		{[]string{"r", "2", "x", "enter", "enter"}, nil, "rate of the whole cluster: 2x", `rate "2x": not a number`},
		{[]string{"r", "2", "x", "enter", "backspace"}, nil, "rate of the whole cluster: 2", "enter sets the rate"},
		{[]string{"r", "2", "x", "enter", "backspace", "k", "enter"}, []Order{{Command: "set-rate", Rate: "2k"}}, "set-rate …", "10 % more"},
		{[]string{"r", "2", "x", "enter", "esc"}, nil, "", "10 % more"},
		{[]string{"r", "2", " ", "o", "v", "e", "r", "enter"}, nil, "rate of the whole cluster: 2 over", `over: "over" is not a duration`},
		{append([]string{"r"}, strings.Split("2 over 0s\r", "")...), []Order{{"set-rate", "2", "0s"}}, "", ""}, // at once
	} {
		s.show("", false)
		var m tea.Model = newModel(s)
		for _, k := range c.keys {
			m, _ = m.Update(pressed(map[bool]string{true: "enter", false: k}[k == "\r"]))
		}
		var orders []Order
		for len(s.orders) > 0 {
			orders = append(orders, <-s.orders)
		}
		lines := strings.Split(ansi.Strip(m.View().Content), "\n")
		line, below := lines[len(lines)-2], lines[len(lines)-1]
		if !slices.Equal(orders, c.want) || !strings.HasPrefix(line, c.line) || !strings.Contains(below, c.below) {
			t.Errorf("%v: %+v, %q, %q", c.keys, orders, line, below)
		}
	}
}

// TestInterrupt: Ctrl-C is passed on, also while a rate is typed.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	s := tenMinutes(t, 20, 80, 24)
	n := 0
	s.options.Interrupt = func() { n++ }
	press(t, s, "ctrl+c", "r", "ctrl+c")
	if n != 2 {
		t.Errorf("%d interrupts", n)
	}
}

// TestOrders: commands are given in their order, each answer is shown, and too many are refused.
func TestOrders(t *testing.T) {
	t.Parallel()
	s := tenMinutes(t, 20, 80, 24)
	var given []string
	let := make(chan error)
	s.options.Give = func(_ context.Context, o Order) (string, error) {
		err := <-let
		given = append(given, o.Rate)
		return "done " + o.Rate, err
	}
	for _, r := range []string{"1", "2"} {
		s.order(Order{Command: "set-rate", Rate: r})
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.obey(ctx) }()
	let <- nil
	let <- errors.New("refused")
	cancel()
	<-ended
	if !slices.Equal(given, []string{"1", "2"}) || s.said != "refused" || !s.refused {
		t.Errorf("given %v, says %q", given, s.said)
	}
	for range mostOrders + 1 {
		s.order(Order{Command: "pause"})
	}
	if !s.refused || len(s.orders) != mostOrders {
		t.Errorf("%d wait, says %q", len(s.orders), s.said)
	}
}
