package archive

// What tests need.
const (
	MaxBytes      = maxBytes
	MaxContainers = maxContainers
	MaxValues     = maxValues
	MaxMembers    = maxMembers
)

var (
	Pack        = pack
	IsArchive   = isArchive
	ReadArchive = readArchive
)

type Document = document
