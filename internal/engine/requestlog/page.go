package requestlog

import (
	"os"

	"github.com/klauspost/compress/zstd"
)

// pageBytes is how much text is written at once. longLine is longer than most lines: the buffer grows for others.
const (
	pageBytes = 256 << 10
	longLine  = 4 << 10
)

// A page collects lines, and writes them together.
type page struct {
	log     *Log
	buffer  []byte
	lines   int64 // in buffer
	took    int   // entries that the last look found
	writer  lineWriter
	encoder *zstd.Encoder // nil = lines are written as they are
	frame   []byte
	whole   int64 // bytes of the file that were written well
}

// begin writes the names of the columns, if the format has them, so that a wrong disk is known at once.
func (p *page) begin() error {
	p.writer = lineWriter{steps: p.log.options.Steps, trace: p.log.options.Trace}
	if p.log.format.zstd {
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return err
		}
		p.encoder = encoder
	}
	if p.log.format.head != "" {
		p.buffer = append(p.buffer, p.log.format.head...)
		return p.flush()
	}
	return nil
}

// take formats all that waits in the rings.
func (p *page) take() error {
	p.took = 0
	for _, g := range p.log.rings {
		if err := g.take(p.add); err != nil {
			return err
		}
	}
	return nil
}

// add formats an entry.
func (p *page) add(e *entry) error {
	p.buffer = p.log.format.line(&p.writer, p.buffer, e)
	p.lines++
	p.took++
	if len(p.buffer) >= pageBytes {
		return p.flush()
	}
	return nil
}

// flush writes what was collected: as a whole, or it cuts off what was written of it.
func (p *page) flush() error {
	if len(p.buffer) == 0 {
		return nil
	}
	data := p.buffer
	if p.encoder != nil {
		p.frame = p.encoder.EncodeAll(p.buffer, p.frame[:0])
		data = p.frame
	}
	if _, err := p.log.file.Write(data); err != nil {
		if f, ok := p.log.file.(*os.File); ok {
			_ = f.Truncate(p.whole) // the first error says more
		}
		return bare(err)
	}
	p.whole += int64(len(data))
	p.log.written.Add(p.lines)
	p.buffer, p.lines = p.buffer[:0], 0
	return nil
}
