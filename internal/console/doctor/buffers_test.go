package doctor

import (
	"testing"
	"testing/fstest"
)

func TestUDPBuffers(t *testing.T) {
	for _, c := range []struct{ most, capabilities, state, says string }{
		{"212992\n", "0000000000000000", Warn, "426 kB for each UDP socket: HTTP/3 asks for 7.34 MB, and datagrams that do not fit are dropped; sysctl -w net.core.rmem_max=7340032"},
		{"212992\n", "00000000000013ff", OK, "7.34 MB, enough for HTTP/3"}, // with CAP_NET_ADMIN
		{"7340032\n", "0000000000000000", OK, "enough"},
		{"3670016\n", "", OK, "enough"},
		{"many", "", OK, "unknown"},
	} {
		files := fstest.MapFS{
			"proc/sys/net/core/rmem_max": {Data: []byte(c.most)},
			"proc/self/status":           {Data: []byte("Name:\tx\nCapEff:\t" + c.capabilities + "\nCapBnd:\t1\n")},
		}
		wants(t, c, udpBuffers(machine{files: files}), c.state, c.says)
	}
	wants(t, "no file", udpBuffers(machine{files: fstest.MapFS{}}), OK, "unknown")
}
