// Package threshold judges conditions that a run has to meet.
//
//	t, err := threshold.Parse("latency:p(99)<250ms over 10s")
//	result := t.Judge(window.Read(t)) // passed, failed or undecided
//
// A value that is not known exactly has a lowest and a highest value. A threshold passes or fails only if it does so
// for both.
package threshold
