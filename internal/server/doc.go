// Package server is the room of the server that counts its requests, for tests, for loadctl target and for the demo:
// how it takes them (arrivals), what it answers (site, shop, streams), and which values came twice (seen).
package server
