package record

// pageBuckets is the number of buckets in a page. Times of one endpoint are in a few pages.
const pageBuckets = 256

// paged is a histogram with the layout of [Histogram] for one interval. A page takes 1 kB, and is there from the first
// value in it on: 20 kB are usual, and 98 kB the most; of a Compact, 3 kB and 17 kB. A bucket counts up to 2³² − 1.
type paged struct {
	logarithm int // of its layout, see Histogram.index
	pages     []*[pageBuckets]uint32
}

// newPaged returns an empty one for a Histogram.
func newPaged() paged { return paged{logarithm: NewHistogram().logarithm()} }

// pagedCompact returns an empty one for a Compact.
func pagedCompact() paged { return paged{logarithm: NewCompact().Histogram().logarithm()} }

// record adds a value in ns, in the range of the layout.
func (p *paged) record(ns int64) {
	i := indexOf(ns, p.logarithm)
	for i/pageBuckets >= len(p.pages) {
		p.pages = append(p.pages, nil)
	}
	page := p.pages[i/pageBuckets]
	if page == nil {
		page = new([pageBuckets]uint32)
		p.pages[i/pageBuckets] = page
	}
	page[i%pageBuckets]++
}

// addTo adds all buckets to h, which has the same layout.
func (p *paged) addTo(h *Histogram) {
	for i, page := range p.pages {
		if page == nil {
			continue
		}
		for j, n := range page {
			if n > 0 {
				h.record(i*pageBuckets+j, int64(n))
			}
		}
	}
}

// reset empties the pages and keeps them.
func (p *paged) reset() {
	for _, page := range p.pages {
		if page != nil {
			*page = [pageBuckets]uint32{}
		}
	}
}

// recordInRange adds a value in ns, if it is in the range of the layout.
func (p *paged) recordInRange(ns int64) {
	if ns, ok := inRange(ns); ok {
		p.record(ns)
	}
}
