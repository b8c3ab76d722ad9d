//go:build !linux

package epoll

import (
	"errors"
	"fmt"

	"github.com/loadctl/loadctl/internal/worker"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/targets"
)

// Client exists on Linux only.
type Client struct{ worker.Client }

// New always fails here, with an error that is errors.ErrUnsupported.
func New(*pacer.Clock, *targets.Wire, int) (*Client, error) {
	return nil, fmt.Errorf("open event loop: %w: epoll exists on Linux only", errors.ErrUnsupported)
}
