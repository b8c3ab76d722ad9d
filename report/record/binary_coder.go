package record

// binaryCoder is an adaptive arithmetic coder of single bits: a bit that was expected with probability p takes about
// −log2(p) bits. The numbers from low to high begin with what was written so far. Each bit divides them in the
// proportion of its probabilities, and keeps one part. Leading bytes that all of them share are final.
//
// The same calls in the same order write and read, so that a model is stated once. Any data can be read: after its end
// there are zeros.
type binaryCoder struct {
	low, high uint32
	reads     bool
	value     uint32 // of the data from here on; between low and high
	data      []byte // written, or to be read
}

func newBinaryCoder() *binaryCoder { return &binaryCoder{high: 1<<32 - 1} }

// readBinaryCoder returns a coder that reads what another wrote.
func readBinaryCoder(data []byte) *binaryCoder {
	c := &binaryCoder{high: 1<<32 - 1, reads: true, data: data}
	for range 4 {
		c.next()
	}
	return c
}

// next moves a byte of the data to read into value.
func (c *binaryCoder) next() {
	c.value <<= 8
	if len(c.data) > 0 {
		c.value |= uint32(c.data[0])
		c.data = c.data[1:]
	}
}

// code writes a bit, or reads one and ignores the argument. It returns the bit.
func (c *binaryCoder) code(bit bool, p *probability) bool {
	middle := c.low + uint32(uint64(c.high-c.low)*uint64(p.ofOne())>>16)
	if c.reads {
		bit = c.value <= middle
	}
	if bit {
		c.high = middle
	} else {
		c.low = middle + 1
	}
	p.learn(bit)
	for (c.low^c.high)>>24 == 0 {
		if c.reads {
			c.next()
		} else {
			c.data = append(c.data, byte(c.high>>24))
		}
		c.low, c.high = c.low<<8, c.high<<8|0xff
	}
	return bit
}

// finish returns what was written. The reader adds zeros, so it is the shortest text from low to high.
func (c *binaryCoder) finish() []byte {
	if c.low > 0 {
		for shift := 24; ; shift -= 8 {
			if short := c.high >> shift << shift; short >= c.low {
				for at := 24; at >= shift; at -= 8 {
					c.data = append(c.data, byte(short>>at))
				}
				break
			}
		}
	}
	for len(c.data) > 0 && c.data[len(c.data)-1] == 0 {
		c.data = c.data[:len(c.data)-1]
	}
	return c.data
}

// A probability is that of a bit being 1, from what was seen. The zero value is one half.
type probability struct {
	ones uint16 // above one half, as a signed number of 16 bits
	seen uint8
}

// mostSeen bounds the weight of the past, so that a probability follows.
const mostSeen = 60

// ofOne returns it in 65,536ths; it is never 0, nor 1.
func (p *probability) ofOne() uint32 { return uint32(p.ones ^ 0x8000) }

// learn moves it towards the bit: the more it has seen, the less.
func (p *probability) learn(bit bool) {
	is := int32(p.ofOne())
	target := int32(1 << 16)
	if !bit {
		target = 0
	}
	is += (target - is) * 2 / (2*int32(p.seen) + 3)
	p.ones = uint16(min(max(is, 32), 1<<16-32)) ^ 0x8000
	if p.seen < mostSeen {
		p.seen++
	}
}
