//go:build !unix

package worker

// cpuTime is what the process has used so far, ns; -1: that is not known here.
func cpuTime() int64 { return -1 }
