package compare

import (
	"math"

	"github.com/loadctl/loadctl/internal/output/svg"
	"github.com/loadctl/loadctl/report"
)

const (
	maxCurves     = 20 // of a side
	perDecade     = 16 // points of a curve: from 0 to 0.9, from there to 0.99, and so on
	decades       = 6
	leastOfDecade = 1 // requests above a point; beyond that the curve is the maximum
)

// curves returns the curves of a kind of times of all runs; those of one side look alike.
func (c Comparison) curves(kind timed) []svg.PercentileCurve {
	var all []svg.PercentileCurve
	for i, side := range c.sides {
		for j, r := range side.Runs {
			if j == maxCurves {
				break
			}
			all = append(all, svg.PercentileCurve{Name: clip(side.Name), Kind: i, Points: curve(r, kind)})
		}
	}
	return all
}

// curve returns the time that each share of the requests asked for did not exceed, as far as that is known: dropped
// requests would have been slower than all others. JSON reports have some percentiles only.
func curve(r report.Report, kind timed) []svg.PercentilePoint {
	bound := 1.0
	if kind.due && r.LowerBoundsAbove != nil {
		bound = *r.LowerBoundsAbove
	}
	var points []svg.PercentilePoint
	if r.Histograms == nil || kind.all(r.Histograms).Count() == 0 {
		for _, p := range percentiles() {
			if ns := p.of(kind.whole(r)); ns > 0 && p.quantile < 1 && p.quantile <= bound {
				points = append(points, svg.PercentilePoint{Share: p.quantile, NS: float64(ns)})
			}
		}
		return points
	}
	h := kind.all(r.Histograms)
	for i := range decades*perDecade + 1 {
		share := 1 - math.Pow(10, -float64(i)/perDecade)
		if share > bound || i > 0 && float64(h.Count())*(1-share) < leastOfDecade {
			break
		}
		points = append(points, svg.PercentilePoint{Share: share, NS: float64(max(1, h.Quantile(min(1, share/bound))))})
	}
	if n := float64(h.Count()); bound >= 1 && n > 1 { // the slowest of n
		points = append(points, svg.PercentilePoint{Share: 1 - 1/n, NS: float64(max(1, h.Max()))})
	}
	return points
}
