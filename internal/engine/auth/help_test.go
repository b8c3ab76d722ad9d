package auth

import (
	"context"
	"encoding/pem"
	"testing"
)

// pemOf returns a certificate in PEM.
func pemOf(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// contextThatEnds returns a context and what ends it.
func contextThatEnds(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}
