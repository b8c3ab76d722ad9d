//go:build !linux && !darwin

package doctor

// descriptorLimit is not known here.
func descriptorLimit() (soft, hard uint64, known bool) { return 0, 0, false }
