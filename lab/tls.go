//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"time"

	"github.com/loadctl/loadctl/internal/server/arrivals"
)

// serveTLS is the endpoint with TLS, with a goroutine for each connection, until stdin ends. It needs more CPU than
// most clients. So it shows what a client costs rather than how fast it can be.
func serveTLS(three bool, stdin io.Reader, stdout io.Writer) error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	server, err := arrivals.Start(arrivals.Options{NoPaths: true, HTTP3: three, TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}})
	if err != nil {
		return err
	}
	// The server's clock counts ns since 1970. It read the system's clock only once, when the server began.
	offset := toMonotonic(server.Now)
	fmt.Fprintln(stdout, "listening", strings.TrimPrefix(server.URL(), "https://"))
	go func() {
		<-server.FirstArrival()
		fmt.Fprintf(stdout, "first %d\n", monotonic())
	}()
	if _, err := io.Copy(io.Discard, stdin); err != nil {
		return err
	}
	if err := server.Close(); err != nil {
		return err
	}
	times := server.Arrivals()
	for i := range times {
		times[i] += offset
	}
	return writeTimes(stdout, times)
}

// selfSigned returns a certificate for 127.0.0.1 that nobody trusts.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
