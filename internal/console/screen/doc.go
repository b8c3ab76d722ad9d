// Package screen shows a run on a whole terminal, and lets a person change its rate, pause it and stop it.
//
//	s := screen.Open(screen.Options{Run: "checkout", In: os.Stdin, Out: os.Stderr, Give: give})
//	defer s.Close()
//	s.Show(look)   // each second, from results.Live
//	<-s.Left()     // somebody pressed q, or the terminal is gone
//
// Close gives the terminal back as it was, and leaves the last frame on it. It does so after a panic too. Show, Trouble
// and Write never wait for the terminal, so a terminal that hangs delays no one. No text of a run, a worker or a server
// can control the terminal: all text passes cell, which replaces control characters.
//
// Layout is arithmetic: frame (frame.go) makes lines of what is known, sections share the rows (layout.go), and bubbletea
// writes what has changed. The last column and colours are bubbletea's concern, as are NO_COLOR and small terminals.
package screen
