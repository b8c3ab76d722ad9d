package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"
)

// certificate has the flags of a server with TLS.
type certificate struct{ file, key string }

// AddFlags adds --tls-cert and --tls-key. serves says what is served then.
func (f *certificate) AddFlags(c *cobra.Command, serves string) {
	c.Flags().StringVar(&f.file, "tls-cert", "", serves+" with the certificate (PEM) in `FILE`")
	c.Flags().StringVar(&f.key, "tls-key", "", "private key of --tls-cert (PEM) in `FILE`")
}

// given tells whether a flag is given.
func (f *certificate) given() bool { return f.file+f.key != "" }

// read returns the TLS configuration; nil if there is none.
func (f *certificate) read() (*tls.Config, error) {
	switch {
	case !f.given():
		return nil, nil
	case f.key == "":
		return nil, errors.New("--tls-cert: give its key too, --tls-key FILE")
	case f.file == "":
		return nil, errors.New("--tls-key: give its certificate too, --tls-cert FILE")
	}
	pair, err := tls.LoadX509KeyPair(f.file, f.key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w; give the names of two PEM files", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// freePort says what to do about a port that another process has.
const freePort = "give another port, or 0 for a free one"

// listenError adds to an error of listening what to do about it.
func listenError(address string, err error, advice string) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // without the address, which is named already
	}
	return fmt.Errorf("--listen %.100s: %w; %s", address, err, advice)
}
