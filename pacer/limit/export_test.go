package limit

// MemoryAt is Memory with a clock of its own, in µs.
func MemoryAt(most int, now func() int64) Store { return memoryAt(most, now) }

// States is how many states a Memory holds.
func States(s Store) int { return len(s.(*memory).entries) }
