package screen

// allot shares rows between sections, the most important first. A section that wants n rows gets 1 for its title and at
// most n. Each gets its title and one row before any gets a second one. Sections for which not even these are left get
// none.
//
//	Σ allot ≤ rows, and allot[i] is 0 or from 2 to 1 + wants[i]
func allot(rows int, wants []int) []int {
	got := make([]int, len(wants))
	for i, n := range wants {
		if n > 0 && rows >= 2 {
			got[i], rows = 2, rows-2
		}
	}
	for more := true; more && rows > 0; {
		more = false
		for i, n := range wants {
			if rows > 0 && got[i] > 0 && got[i] < 1+n {
				got[i], rows, more = got[i]+1, rows-1, true
			}
		}
	}
	return got
}
