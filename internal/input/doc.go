// Package input is the room of what people write to describe a run: workload files (workload), recordings and commands
// of other tools (importer), descriptions of gRPC methods (schema), and what all of it would send (preview, rehearsal).
package input
