package report

import "github.com/loadctl/loadctl/report/samples"

// evidence returns the samples of a report: as many as Redis holds of a run, so that every format has room for them.
func evidence(s samples.Set) []samples.Sample {
	return s.Within(samples.Limits{Bytes: samples.MostRunBytes}).Samples
}
