//go:build !linux && !darwin

package doctor

// descriptorLimit is unknown on this system.
func descriptorLimit() (soft, hard uint64, known bool) { return 0, 0, false }
