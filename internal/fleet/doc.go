// Package fleet is the room of what many processes share through Redis: what a run is asked to do (spec), its stored
// state (run), what its workers counted (results), its data files (files), and how a process becomes one of its workers
// (member). Connections to Redis are in link, mux, rdb and embedded.
package fleet
