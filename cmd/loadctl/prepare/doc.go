// Package prepare has the commands for the time before a run: they import, check and show what would be sent, look at
// the machine, and explain. None of them needs a run.
package prepare
