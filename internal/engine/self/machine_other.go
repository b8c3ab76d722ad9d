//go:build !linux

package self

import "github.com/loadctl/loadctl/report/record"

// machine is empty: this system has no such figures.
type machine struct{}

func (*machine) open()                            {}
func (*machine) close()                           {}
func (*machine) measure(*record.Self, []Threaded) {}
