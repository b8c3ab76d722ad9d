package report

import (
	"time"

	"github.com/loadctl/loadctl/report/threshold"
)

// combineThresholds adds the results of the thresholds. A threshold that all parts have is judged again over all data,
// if that is exact: all parts are complete, have ended and have the same warm-up. To be judged window by window, their
// points must also be as wide as those of the sum. Any other threshold keeps the result of its part, under the name of
// the part. So does one on a query: each part had its own.
func (r *Report) combineThresholds(parts []Part) {
	exact, aligned := true, true
	owners := map[threshold.Threshold]int{} // how many parts have the threshold, in any spelling
	for _, p := range parts {
		exact = exact && p.Report.Complete && p.Report.WarmupS == parts[0].Report.WarmupS
		aligned = aligned && p.Report.SeriesWidthS == r.SeriesWidthS
		r.WarmupS = max(r.WarmupS, p.Report.WarmupS)
		for key := range p.Report.asked() {
			owners[key]++
		}
	}
	warmup, judged := time.Duration(r.WarmupS*float64(time.Second)), map[threshold.Threshold]bool{}
	for _, p := range parts {
		for _, t := range p.Report.Thresholds {
			given, err := threshold.Parse(t.Threshold)
			windows, key := given.Over > 0 || warmup > 0, given.Key()
			switch {
			case err != nil || !exact || given.Query != "" || windows && !aligned || owners[key] < len(parts):
				t.Threshold = p.Name + ": " + t.Threshold
				r.Thresholds = append(r.Thresholds, t)
			case !judged[key]:
				judged[key] = true
				r.Thresholds = append(r.Thresholds, r.threshold(given, warmup, 0))
			}
		}
	}
}

// asked returns the thresholds of a report, each once.
func (r Report) asked() map[threshold.Threshold]bool {
	all := map[threshold.Threshold]bool{}
	for _, t := range r.Thresholds {
		if given, err := threshold.Parse(t.Threshold); err == nil {
			all[given.Key()] = true
		}
	}
	return all
}
