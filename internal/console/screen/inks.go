package screen

import "charm.land/lipgloss/v2"

// Inks are the styles of a frame. They use the colours of the terminal's own theme.
type inks struct{ strong, faint, good, bad, doubt, marked lipgloss.Style }

func newInks() inks {
	plain := lipgloss.NewStyle()
	return inks{
		strong: plain.Bold(true), faint: plain.Faint(true), marked: plain.Reverse(true),
		good: plain.Foreground(lipgloss.Green), bad: plain.Foreground(lipgloss.Red), doubt: plain.Foreground(lipgloss.Yellow),
	}
}

// result returns the style of a result: passed, failed, undecided or invalid.
func (k inks) result(r string) lipgloss.Style {
	switch r {
	case "passed":
		return k.good
	case "failed", "invalid":
		return k.bad
	default:
		return k.doubt
	}
}
