// Package requestlog writes a line for each request of a worker into a file, and never makes a request wait.
//
//	l, err := requestlog.Create("requests.csv.zst")
//	if err != nil { … }
//	l.Start(requestlog.Options{Parts: 2, Clock: clock})
//	l.Add(0, result) // from the goroutine of part 0
//	sum := l.Close() // sum.Written, sum.LeftOut, sum.Failure
//
// Each part has a ring with one producer: Add takes no lock, allocates nothing and never blocks. One goroutine formats and
// writes. What finds no room is left out, and counted:
//
//	added = written + left out
//
// Each second all lines go to the system, so a process that is killed loses only the lines since. A file of zst is a
// sequence of frames, each whole, so it can be read up to the last one. When a write fails the log ends, after what was
// whole, and the run goes on.
package requestlog
