// Package console is the room of what a person operates: flags and exit codes (cli), a run on a terminal (watch, screen)
// and on a page (ui), its numbers for monitoring (metrics), and the commands that are more than one call: doctor,
// compare, search, limiters, demo.
package console
