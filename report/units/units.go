package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration formats nanoseconds with three significant digits, from µs to s. It changes to the next unit where the value
// would be rounded to 1000.
func Duration(ns int64) string {
	v, unit := float64(ns)/1e3, "µs"
	switch {
	case ns >= 999_500_000:
		v, unit = float64(ns)/1e9, "s"
	case ns >= 999_500:
		v, unit = float64(ns)/1e6, "ms"
	}
	return threeDigits(v) + unit
}

// Length formats the length of a run or a part of it, as people write it and flags read it: 5m, not 5m0s.
func Length(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Bytes formats a number of bytes in decimal units.
func Bytes(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, unit := float64(n)/1e3, "kB"
	for _, next := range []string{"MB", "GB", "TB", "PB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1e3, next
	}
	return threeDigits(v) + " " + unit
}

// threeDigits formats v ≥ 0 with three significant digits, more above 1000.
func threeDigits(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Rate formats requests per second: one decimal, and three digits below 1.
func Rate(v float64) string {
	if v < 1 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// Thousandths formats requests per second as they are asked for: to a thousandth, without trailing zeros.
func Thousandths(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}

// Things formats a number of things: 1 worker, 2 workers.
func Things(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + one + "s"
}

// Value formats a number of any size and sign: four significant digits, and all digits of a whole part.
func Value(v float64) string {
	if size := math.Abs(v); size >= 1000 && size < 1e15 {
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Percent formats a share with two decimals, rounded down: 100 means all. The small addend keeps 0.57, which is not a
// binary fraction, from becoming 56.99.
func Percent(share float64) string {
	return strconv.FormatFloat(math.Floor(share*10_000+1e-6)/100, 'f', 2, 64)
}

// OfPlan says which part of its plan's rates a run sends, such as "36 % of its plan"; "" if factor is 0, which means all.
func OfPlan(factor float64) string {
	if factor == 0 {
		return ""
	}
	return fmt.Sprintf("%.4g %% of its plan", factor*100)
}

// Ratio returns a/b, and 0 if b is 0.
func Ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// Groups puts commas between groups of three digits of a number's integer part: 1,234,567.5. Other texts stay as they
// are.
func Groups(number string) string {
	whole, rest, has := strings.Cut(number, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	if strings.Trim(whole, "0123456789") != "" {
		return number
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if has {
		rest = "." + rest
	}
	return sign + whole + rest
}
