package workload

import "fmt"

// meant asks whether one of the known names was meant, and goes on with Or; "" if none is near.
func meant(name string, known []string) string {
	const longest = 64 // comparing takes the product of the lengths
	if len(name) > longest {
		return ""
	}
	best, least := "", len(name)/2+1
	for _, k := range known {
		if len(k) > longest {
			continue
		}
		if n := distance(name, k); n < least {
			best, least = k, n
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s? Or ", best)
}

// distance returns how many bytes to insert, remove or replace, or neighbours to exchange, to make b of a. Row i has the
// distances of the first i bytes of a. (Damerau, A Technique for Computer Detection and Correction of Spelling Errors,
// 1964; no part is changed twice.)
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range len(b) {
		rows[0][j+1] = j + 1
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(replaced, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
