// Package serve has the commands that serve until they are told to end: the live page, and a test server.
package serve
