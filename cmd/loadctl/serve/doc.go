// Package serve has the commands that serve until they are stopped: the live page, and a test server.
package serve
