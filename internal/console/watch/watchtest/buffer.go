// Package watchtest lets a test see what is shown: in a buffer that can be read while it is written, and on Linux in a
// terminal.
//
//	p := watchtest.NewTerminal(t, 80)
//	show(p.Slave)
//	got := p.Shown()
package watchtest

import (
	"bytes"
	"sync"
)

// Buffer holds what was written to it. The zero value is empty. It is safe for concurrent use.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer; it never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns everything written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
