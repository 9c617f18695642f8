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
	stride int // how far blocks are apart: one is whole in every window
	start  int // how many bytes are a beginning

	starts bitmap // by the hash of a beginning

	// At most one is there. Without any, a value may begin anywhere.
	short *shortBlocks
	long  *longBlocks
}

// shortBlocks are for short windows: more is gained there from looking at fewer places. They
// tell by a block where it stands: a bit for each place in a window. A byte for each pair of
// characters of ASCII is small enough for the processor's nearest cache, and others share it.
type shortBlocks [asciiPair + 1]uint8

// longBlocks are all but in no text by chance.
type longBlocks struct {
	blocks bitmap                 // by the hash of a block
	places [1 << placeBits]uint32 // by some bits of that, as in shortBlocks
}

const (
	shortBlock  = 2
	shortWindow = MinLength
	shortStride = shortWindow - shortBlock + 1
	longBlock   = 4
	longWindow  = 8 // from here on blocks are long

	asciiPair = 0x7f7f // the bits of a short block that tell it from others

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
	f.start = min(f.window, maxStart)
	var add func(place int, p []byte) // the block with which p begins, at a place in a window
	switch {
	case f.window < shortWindow:
		return // what is so short may be anywhere
	case f.window < longWindow:
		f.window, f.stride = shortWindow, shortStride
		f.short = new(shortBlocks)
		add = f.short.add
	default:
		f.long, f.stride = new(longBlocks), f.window-longBlock+1
		add = f.long.add
	}
	for _, v := range values {
		p := []byte(v)
		f.starts.set(f.hashStart(p))
		for i := range f.stride {
			add(i, p[i:])
		}
	}
}

func (s *shortBlocks) add(place int, p []byte) {
	s[binary.LittleEndian.Uint16(p)&asciiPair] |= 1 << place
}

func (l *longBlocks) add(place int, p []byte) {
	h := hash(binary.LittleEndian.Uint32(p))
	l.blocks.set(h)
	l.places[h&(1<<placeBits-1)] |= 1 << place
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
	at := -1
	switch {
	case f.long != nil:
		at = f.skipLong(p, from)
	case f.short != nil:
		at = f.skipShort(p, from)
	case f.window > 0:
		return from
	default:
		return len(p)
	}
	if at < 0 {
		at = max(from, len(p)-f.window+1)
	}
	return at
}

// skipLong returns the first place at which a value may begin that has one of the blocks in p;
// -1: there is none.
func (f *filter) skipLong(p []byte, from int) int {
	l, stride := f.long, f.stride
	for i := from; i+longBlock <= len(p); i += stride {
		if h := hash(binary.LittleEndian.Uint32(p[i:])); l.blocks.has(h) {
			if at := f.begins(p, from, i, l.places[h&(1<<placeBits-1)]); at >= 0 {
				return at
			}
		}
	}
	return -1
}

// skipShort is skipLong for short blocks. It looks at four of them at a time, of which a word
// has two, and takes only the step behind them for one of which anything is to be done.
func (f *filter) skipShort(p []byte, from int) int {
	const next = 8 * shortStride // where a word has its second block
	s, i := f.short, from
	for ; i+4*shortStride <= len(p); i += 4 * shortStride {
		q := (*[4 * shortStride]byte)(p[i:])
		a, b := binary.LittleEndian.Uint64(q[:]), binary.LittleEndian.Uint64(q[2*shortStride:])
		if s[a&asciiPair]|s[a>>next&asciiPair]|s[b&asciiPair]|s[b>>next&asciiPair] == 0 {
			continue
		}
		if at := f.fewShort(p, from, i, i+4*shortStride); at >= 0 {
			return at
		}
	}
	return f.fewShort(p, from, i, len(p)-shortBlock+1)
}

// fewShort is skipShort for few blocks, which stand at i and behind it, before end.
func (f *filter) fewShort(p []byte, from, i, end int) int {
	for ; i < end; i += shortStride {
		if places := f.short[binary.LittleEndian.Uint16(p[i:])&asciiPair]; places != 0 {
			if at := f.begins(p, from, i, uint32(places)); at >= 0 {
				return at
			}
		}
	}
	return -1
}

// begins returns the first place, at or behind from, at which a value may begin that has the
// block at i, where its places say; -1: there is none.
func (f *filter) begins(p []byte, from, i int, places uint32) int {
	for places != 0 {
		place := bits.Len32(places) - 1
		places &^= 1 << place
		at := i - place
		if at >= from && (at+f.start > len(p) || f.starts.has(f.hashStart(p[at:]))) {
			return at
		}
	}
	return -1
}
