package screen

import "strings"

// A key is a command that the keyboard gives.
type key struct {
	key, name string
	why       string // why it is not possible now; "" = it is
}

// keys returns the commands, and which of them are possible now.
func (v view) keys() []key {
	hold := "pause"
	if v.look != nil && v.look.Phase == "paused" {
		hold = "resume"
	}
	why := v.forbidden()
	rate := why
	switch {
	case rate != "":
	case v.look.Concurrency > 0:
		rate = "the run has a number of requests in flight, no rate; loadctl set-rate RUN c=N changes it"
	case v.look.Report.ClosedLoop:
		rate = "a closed loop has no rate"
	}
	pause := why
	if pause == "" && v.look.Phase == "waiting" {
		pause = "the run has not begun"
	}
	return []key{{"+", "10 % more", rate}, {"-", "10 % less", rate}, {"r", "rate", rate}, {"space", hold, pause}, {"s", "stop", why}}
}

// forbidden says why no command is possible; "" = they are.
func (v view) forbidden() string {
	switch {
	case v.readOnly:
		return "this screen is read-only; leave out --read-only to give commands"
	case v.look == nil:
		return "Redis has not answered yet"
	case v.look.Phase == "stopped" || v.look.Phase == "ended":
		return "the run is over"
	}
	return ""
}

// footer lists the keys. Those that are not possible now are grey. While a rate is typed it says what may be typed, or
// what is wrong.
func (v view) footer() string {
	switch {
	case v.asks == theRate && v.wrong != "":
		return v.inks.bad.Render(cell(v.wrong, v.width))
	case v.asks == theRate:
		return v.inks.faint.Render("500, 2k, or 2k over 30s   enter sets the rate   esc leaves it as it is")
	}
	var all []string
	for _, k := range v.keys() {
		if k.why != "" {
			all = append(all, v.inks.faint.Render(k.key+" "+k.name))
		} else {
			all = append(all, v.inks.strong.Render(k.key)+" "+k.name)
		}
	}
	return strings.Join(append(all, v.inks.strong.Render("q")+" "+v.quit), "   ")
}

// answer is the line above the keys: a question, or the answer to the newest command.
func (v view) answer() string {
	switch {
	case v.asks == theRate:
		return v.inks.strong.Render("rate of the whole cluster: ") + v.typed + v.inks.marked.Render(" ")
	case v.asks == theStop:
		return v.inks.bad.Render(cell("y stops "+v.run+", any other key does not. It cannot be started again.", v.width))
	case v.refused:
		return v.inks.bad.Render(cell(v.said, v.width))
	}
	return cell(v.said, v.width)
}
