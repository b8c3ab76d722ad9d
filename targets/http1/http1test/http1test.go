// Package http1test has odd and hostile responses of HTTP/1.1, and what is to
// be made of them.
package http1test

// A Case is a response and what is to be made of it.
type Case struct {
	Name   string
	Bytes  []byte
	Closes bool // the peer closes after Bytes; else it keeps the connection open
	Head   bool // the request's method is HEAD

	Status int    // as the parser says it, also where the body fails; 0: none
	Class  string // of package targets: "", "eof", "protocol", "body-limit", "timeout" where the answer does not end
	Keep   bool   // the connection can carry another request
	Body   int64  // bytes of the body that were read, where it ended well
}

// Cases returns all of them. The caller may change them.
func Cases() []Case { return nil }
