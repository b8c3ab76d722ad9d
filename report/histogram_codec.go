package report

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"math"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/klauspost/compress/flate"
)

const (
	// maxHistogramText bounds the text of one histogram. The largest real one
	// is about 300 kB: every bucket in use, with counts that do not compress.
	maxHistogramText = 512 << 10

	// maxCount bounds every decoded count, so that sums over a thousand workers
	// stay far from overflow and JSON numbers stay exact.
	maxCount = 1 << 53

	// varintCounts is the part of the format's cookies that says that counts are LEB128.
	varintCounts = 0x10
)

// MarshalText encodes h as HdrHistogram's V2 compressed format in base64, which
// the HdrHistogram tools of other languages read. An empty histogram is "".
//
// The library's encoder writes the same before compression, but makes a compressor for each, of 800 kB: with some ten histograms a second that
// was nearly all of a worker's garbage. The library's texts are shorter: of 1,000 values by a third, of 20,000 by a seventh.
func (h *Histogram) MarshalText() ([]byte, error) {
	if h.Count() == 0 {
		return []byte{}, nil
	}
	plain := h.plain()
	compressed := bytes.NewBuffer(make([]byte, 8, 8+len(plain)/2))
	if err := deflate(compressed, plain); err != nil {
		return nil, fmt.Errorf("encode histogram: %w", err)
	}
	out := compressed.Bytes()
	binary.BigEndian.PutUint32(out, uint32(hdrhistogram.V2CompressedEncodingCookieBase|varintCounts))
	binary.BigEndian.PutUint32(out[4:], uint32(len(out)-8))
	return base64.StdEncoding.AppendEncode(nil, out), nil
}

// plain is what is compressed: a header and the counts from index 0 to the last that is not 0. A count c ≥ 0 is written as a number, and
// n ≥ 2 counts of 0 in a row as the number −n; numbers are zig-zag LEB128, as package binary writes them; from 2^62 on the format would be another.
func (h *Histogram) plain() []byte {
	out := make([]byte, hdrhistogram.ENCODING_HEADER_SIZE, hdrhistogram.ENCODING_HEADER_SIZE+4*h.packed.Populated())
	index := 0
	for value, count := range h.Buckets() {
		at := h.index(value)
		switch zeros := at - index; {
		case zeros == 1:
			out = append(out, 0)
		case zeros > 1:
			out = binary.AppendVarint(out, -int64(zeros))
		}
		out = binary.AppendVarint(out, count)
		index = at + 1
	}
	binary.BigEndian.PutUint32(out, uint32(hdrhistogram.V2EncodingCookieBase|varintCounts))
	binary.BigEndian.PutUint32(out[4:], uint32(len(out)-hdrhistogram.ENCODING_HEADER_SIZE))
	binary.BigEndian.PutUint32(out[12:], uint32(h.precision()))
	binary.BigEndian.PutUint64(out[16:], lowestNS)
	binary.BigEndian.PutUint64(out[24:], highestNS)
	binary.BigEndian.PutUint64(out[32:], math.Float64bits(1))
	return out
}

// index is the place of the bucket that begins at value, in ns. Of units u, the greatest power of 2 up to lowestNS, the first 2n buckets have
// one each, and each n buckets after that have twice as many as those before, with 2n the first power of 2 from 2·10^digits on:
//
//	b = max(0, ⌈log2(value/u + 1)⌉ − log2(2n)),  index = b·n + value/(u·2^b)
func (h *Histogram) index(value int64) int {
	units := uint64(value) >> (bits.Len64(lowestNS) - 1)
	logarithm := 11 // 2,048 from 2,000 on
	if h.precision() == seriesDigits {
		logarithm = 8 // 256 from 200 on
	}
	b := max(0, bits.Len64(units)-logarithm)
	return b<<(logarithm-1) + int(units>>b)
}

// deflate writes data in zlib's format (RFC 1950). A compressor of the standard library could be used again only by who keeps it, which here is
// nobody: encoding/json asks each histogram by itself. This one's buffers, of some 300 kB, are shared by all calls.
func deflate(w *bytes.Buffer, data []byte) error {
	w.Write([]byte{0x78, 0x01}) // deflate, 32 kB, fastest; the two as one number are divisible by 31
	if err := flate.StatelessDeflate(w, data, true, nil); err != nil {
		return err
	}
	w.Write(binary.BigEndian.AppendUint32(nil, adler32.Checksum(data)))
	return nil
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
