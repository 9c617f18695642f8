package redact

import (
	"encoding/binary"
	"math/bits"
)

// A filter finds out quickly that nothing in some bytes can be a value. It looks at blocks of
// a few bytes, so far apart that one of them lies in the first bytes of any value that there
// may be, and asks whether any value has such a block there, and where. Then it looks whether
// what would be the value's beginning is one.
type filter struct {
	window int // how many first bytes of each value count; 0: there are no values
	block  int // how long blocks are; 0: there are none
	start  int // how many bytes are a beginning

	blocks bitmap                 // by the hash of a block
	starts bitmap                 // by that of a beginning
	places [1 << placeBits]uint32 // by some bits of the hash of a block, where it stands: a bit for each place in a window
}

const (
	// Where the window is a short one, more is gained from looking at fewer places.
	shortBlock = 2
	longBlock  = 4
	longWindow = 8 // from here on blocks are long

	hashBits  = 16
	placeBits = 12
	maxWindow = 32 // as many places as there are bits for
	maxStart  = 2 * longBlock
)

type bitmap [1 << (hashBits - 6)]uint64

func (m *bitmap) set(h uint32)      { m[h>>(hashBits-10)&(1<<10-1)] |= 1 << (h & 63) }
func (m *bitmap) has(h uint32) bool { return m[h>>(hashBits-10)&(1<<10-1)]&(1<<(h&63)) != 0 }

func (f *filter) init(values []string) {
	for _, v := range values {
		if f.window == 0 || len(v) < f.window {
			f.window = min(len(v), maxWindow)
		}
	}
	switch {
	case f.window < longBlock:
		return // what is so short may be anywhere
	case f.window < longWindow:
		f.block = shortBlock
	default:
		f.block = longBlock
	}
	f.start = min(f.window, maxStart)
	for _, v := range values {
		p := []byte(v[:f.window])
		f.starts.set(f.hashStart(p))
		for i := 0; i+f.block <= f.window; i++ {
			h := uint32(binary.LittleEndian.Uint16(p[i:]))
			if f.block == longBlock {
				h = hash(binary.LittleEndian.Uint32(p[i:]))
			}
			f.blocks.set(h)
			f.places[h&(1<<placeBits-1)] |= 1 << i
		}
	}
}

// hash is Fibonacci hashing: the high bits, which are all that it returns, depend on all of x.
func hash(x uint32) uint32 { return x * 0x9e3779b1 >> (32 - hashBits) }

// hashStart is the hash of the beginning that p has.
func (f *filter) hashStart(p []byte) uint32 {
	first, last := binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[f.start-longBlock:])
	return uint32((uint64(first)<<32 | uint64(last)) * 0x9e3779b97f4a7c15 >> (64 - hashBits))
}

// skip returns the first place at or behind from at which a value may begin. That which is
// too near to the end of p for its first bytes to be there, may always.
func (f *filter) skip(p []byte, from int) int {
	stride, at := f.window-f.block+1, -1
	switch f.block {
	case longBlock:
		for i := from; i+longBlock <= len(p) && at < 0; i += stride {
			if h := hash(binary.LittleEndian.Uint32(p[i:])); f.blocks.has(h) {
				at = f.begins(p, from, i, h)
			}
		}
	case shortBlock:
		for i := from; i+shortBlock <= len(p) && at < 0; i += stride {
			if h := uint32(binary.LittleEndian.Uint16(p[i:])); f.blocks.has(h) {
				at = f.begins(p, from, i, h)
			}
		}
	default:
		if f.window > 0 {
			return from
		}
		return len(p)
	}
	if at < 0 {
		at = max(from, len(p)-f.window+1)
	}
	return at
}

// begins returns the first place, at or behind from, at which a value may begin that has the
// block at i, of which h is the hash; -1: there is none.
func (f *filter) begins(p []byte, from, i int, h uint32) int {
	for places := f.places[h&(1<<placeBits-1)]; places != 0; {
		place := bits.Len32(places) - 1
		places &^= 1 << place
		at := i - place
		if at >= from && (at+f.start > len(p) || f.starts.has(f.hashStart(p[at:]))) {
			return at
		}
	}
	return -1
}
