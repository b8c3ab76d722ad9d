// Package units formats numbers for people: times, sizes, rates and shares.
//
//	units.Duration(1_234_567) // 1.23ms
//	units.Percent(0.9999)     // 99.99
package units
