//go:build linux

package main

import "fmt"

// before is a tool as it was: the loadworker of another commit, with the same flags.
func (b *bench) before(t tool) tool {
	t.name += ", before"
	t.path = b.against
	return t
}

// againstBefore adds a table of a tool and of what it was. A change of less than 3 % is noise.
func againstBefore(s *section, rounds contest[shot], name string) {
	before := name + ", before"
	besides(s, rounds, before)
	s.atMost(fmt.Sprintf("%s, CPU a request to what it was", name), pairedShots(rounds.take(name), rounds.take(before)).median(), 1.03, "%.2f")
}
