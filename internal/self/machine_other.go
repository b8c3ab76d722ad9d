//go:build !linux

package self

import "github.com/loadctl/loadctl/report"

// machine is empty: this system has no such figures.
type machine struct{}

func (*machine) open()                            {}
func (*machine) close()                           {}
func (*machine) measure(*report.Self, []Threaded) {}
