// Package proof is the room of what shows that the promises hold: the protocol a second time (model), fleets in virtual
// time (sim), fleets of processes (e2e, chaos), the documents (doctest), and servers and tools for tests. No program that
// is shipped contains it.
package proof
