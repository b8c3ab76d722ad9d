package report

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// maxHistogramText bounds the text of one histogram. The largest real one
	// is about 300 kB: every bucket in use, with counts that do not compress.
	maxHistogramText = 512 << 10

	// maxCount bounds every decoded count, so that sums over a thousand workers
	// stay far from overflow and JSON numbers stay exact.
	maxCount = 1 << 53
)

// MarshalText encodes h as HdrHistogram's V2 compressed format in base64, which
// the HdrHistogram tools of other languages read. An empty histogram is "".
func (h *Histogram) MarshalText() ([]byte, error) {
	if h.Count() == 0 {
		return []byte{}, nil
	}
	return h.packed.EncodeV2()
}

// UnmarshalText replaces h by what MarshalText wrote. Any other layout than
// that of h is an error; the text may come from an untrusted source.
func (h *Histogram) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		h.packed = nil
		return nil
	}
	if len(text) > maxHistogramText {
		return fmt.Errorf("decode histogram: %d bytes, more than %d", len(text), maxHistogramText)
	}
	if err := checkLayout(text, h.precision()); err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	// With the layout known to be ours the library's own bound (9 bytes a
	// bucket) limits what it inflates to 221 kB.
	packed, err := hdrhistogram.DecodePacked(text)
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	if packed.TotalCount() > maxCount {
		return fmt.Errorf("decode histogram: %d values, more than 2^53", packed.TotalCount())
	}
	h.packed = packed
	return nil
}

// checkLayout reads the header of an encoded histogram, and no more than that,
// and compares it with the one layout. The library would believe the header
// and allocate what it asks for, gigabytes if need be.
//
// Format: int32 cookie, int32 length, then compressed: int32 cookie, int32
// payload length, int32 offset, int32 digits, int64 lowest, int64 highest,
// float64 ratio; all big endian.
func checkLayout(text []byte, digits int) error {
	source := base64.NewDecoder(base64.StdEncoding, bytes.NewReader(text))
	if _, err := io.CopyN(io.Discard, source, 8); err != nil {
		return fmt.Errorf("read envelope: %w", err)
	}
	inflated, err := zlib.NewReader(source)
	if err != nil {
		return fmt.Errorf("read envelope: %w", err)
	}
	defer inflated.Close()
	var header [hdrhistogram.ENCODING_HEADER_SIZE]byte
	if _, err := io.ReadFull(inflated, header[:]); err != nil {
		return fmt.Errorf("read header: %w", err)
	}
	gotDigits := int32(binary.BigEndian.Uint32(header[12:]))
	lowest := int64(binary.BigEndian.Uint64(header[16:]))
	highest := int64(binary.BigEndian.Uint64(header[24:]))
	if int(gotDigits) != digits || lowest != lowestNS || highest != highestNS {
		return fmt.Errorf("layout %d…%d ns with %d digits, want %d…%d ns with %d",
			lowest, highest, gotDigits, int64(lowestNS), int64(highestNS), digits)
	}
	if math.Float64frombits(binary.BigEndian.Uint64(header[32:])) != 1 {
		return errors.New("values are scaled by a ratio other than 1")
	}
	return nil
}
