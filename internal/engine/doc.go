// Package engine is the room of what runs in a worker between the schedule and the endpoint: the shards of a worker
// (worker), the event loop that performs its requests (loop), its connections (transport) on the sockets of the system
// (sockets), what its process gets from its machine (self), and the credentials that it sends (auth). It knows targets,
// leases and records, and nothing of Redis.
package engine
