package record

import (
	"math"
)

// Distribution summarizes h, which holds the share kept of all values; the others were larger by an unknown amount. A
// quantile q ≤ kept of all values is the quantile q/kept of h. A quantile above kept is reported as the maximum of h, a
// lower bound.
func (h *Histogram) Distribution(kept float64) Distribution {
	quantile := func(q float64) int64 { return h.Quantile(min(1, q/kept)) }
	return Distribution{
		Min:   h.Min(),
		Mean:  int64(math.Round(h.Mean())),
		P50:   quantile(0.5),
		P90:   quantile(0.9),
		P95:   quantile(0.95),
		P99:   quantile(0.99),
		P999:  quantile(0.999),
		P9999: quantile(0.9999),
		Max:   h.Max(),
	}
}

// A Distribution summarizes a histogram, in nanoseconds rounded to 3 significant digits. All are 0 if nothing was
// recorded; min ≤ p50 ≤ … ≤ p9999 ≤ max.
type Distribution struct {
	Min   int64 `json:"min"`
	Mean  int64 `json:"mean"`
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P95   int64 `json:"p95"`
	P99   int64 `json:"p99"`
	P999  int64 `json:"p999"`
	P9999 int64 `json:"p9999"`
	Max   int64 `json:"max"`
}

// A Quantile is a named quantile of a distribution.
type Quantile struct {
	Q  float64
	NS int64
}

// Quantiles returns the quantiles of a distribution, and its maximum.
func (d Distribution) Quantiles() []Quantile {
	return []Quantile{{0.5, d.P50}, {0.9, d.P90}, {0.95, d.P95}, {0.99, d.P99}, {0.999, d.P999}, {0.9999, d.P9999}, {1, d.Max}}
}
