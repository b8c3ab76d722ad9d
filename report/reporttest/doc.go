// Package reporttest has reports for tests.
//
//	rep := report.Build(reporttest.Run(t))
package reporttest
