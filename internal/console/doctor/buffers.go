package doctor

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/loadctl/loadctl/report/units"
)

// wantedBuffer is the buffer that QUIC asks for at each UDP socket, in bytes: what arrives at 10 Gbit/s in 6 ms.
const wantedBuffer = 7 << 20

// Buffers returns nil if a UDP socket may have a buffer as large as HTTP/3 wants it, or if that cannot be found out.
func Buffers() error {
	if f := udpBuffers(thisMachine(0)); f.State != OK {
		return fmt.Errorf("%s; %s", f.Found, f.Mend)
	}
	return nil
}

// udpBuffers checks how much a UDP socket may hold that was received and not yet read. The kernel drops the rest.
func udpBuffers(m machine) Finding {
	text, err := fs.ReadFile(m.files, "proc/sys/net/core/rmem_max")
	var most int64
	if err != nil {
		return ok("unknown")
	}
	if _, err := fmt.Sscan(string(text), &most); err != nil {
		return ok("unknown")
	}
	buffer := 2 * most // the kernel doubles what is asked for, for its own use
	if buffer >= wantedBuffer || mayExceed(m.files) {
		return ok(units.Bytes(wantedBuffer) + ", enough for HTTP/3")
	}
	return warn(fmt.Sprintf("%s for each UDP socket: HTTP/3 asks for %s, and datagrams that do not fit are dropped", units.Bytes(buffer), units.Bytes(wantedBuffer)),
		fmt.Sprintf("sysctl -w net.core.rmem_max=%d, if workers use --http 3", wantedBuffer))
}

// mayExceed tells whether this process has CAP_NET_ADMIN, which lifts the limit.
func mayExceed(files fs.FS) bool {
	const netAdmin = 12 // its bit
	text, err := fs.ReadFile(files, "proc/self/status")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(text), "CapEff:")
	var bits uint64
	_, err = fmt.Sscanf(after, "%x", &bits)
	return err == nil && bits>>netAdmin&1 == 1
}
