package record

// What tests need.
const CounterBytes = counterBytes
const EntryBytes = entryBytes
const Buckets = buckets
const StatusCodes = statusCodes
const MaxClassBytes = maxClassBytes
const MaxSnapshotBytes = maxSnapshotBytes

// Value is value.
func (h *Histogram) Value(i int) int64 { return h.value(i) }

// Index is index.
func (h *Histogram) Index(value int64) int { return h.index(value) }
