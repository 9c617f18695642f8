package redact

import (
	"encoding/binary"
	"math/bits"
)

// A filter quickly finds ranges of bytes that cannot contain a value. It checks blocks of a few bytes, spaced so
// that the first bytes of any value contain a whole block. It looks up whether any value has such a block there,
// and at which place; then it checks whether the bytes at the value's begin are the beginning of a value.
type filter struct {
	window int // number of significant first bytes of each value; 0: there are no values
	stride int // distance of blocks: every window contains a whole one
	start  int // length of a beginning in bytes

	starts bitmap // by the hash of a beginning

	// At most one is set. If neither is, a value may begin anywhere.
	short *shortBlocks
	long  *longBlocks
}

// shortBlocks are for short windows, for which it pays more to check fewer places. They map a block to its
// places: a bit for each place in a window. With a byte for each pair of ASCII characters, the table fits into
// the processor's L1 cache; other pairs share these entries.
type shortBlocks [asciiPair + 1]uint8

// longBlocks occur in ordinary text almost never by chance.
type longBlocks struct {
	blocks bitmap                 // by the hash of a block
	places [1 << placeBits]uint32 // by some bits of that hash, as in shortBlocks
}

const (
	shortBlock  = 2
	shortWindow = MinLength
	shortStride = shortWindow - shortBlock + 1
	longBlock   = 4
	longWindow  = 8 // the minimum window with long blocks

	asciiPair = 0x7f7f // the significant bits of a short block

	hashBits  = 16
	placeBits = 12
	maxWindow = 32 // one place for each bit
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
	var add func(place int, p []byte) // adds the first block of p, for a place in a window
	switch {
	case f.window < shortWindow:
		return // such short values may begin anywhere
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

// hash is Fibonacci hashing. It returns the high bits, which depend on all of x.
func hash(x uint32) uint32 { return x * 0x9e3779b1 >> (32 - hashBits) }

// hashStart returns the hash of the first f.start bytes of p.
func (f *filter) hashStart(p []byte) uint32 {
	first, last := binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[f.start-longBlock:])
	return uint32((uint64(first)<<32 | uint64(last)) * 0x9e3779b97f4a7c15 >> (64 - hashBits))
}

// skip returns the first place at or after from at which a value may begin. A place too near to the end of p for
// a whole window is always possible.
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

// skipLong returns the first place at which a value may begin, found by a block in p; -1: there is none.
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

// skipShort is skipLong for short blocks. It checks four blocks at a time, two per word, and processes them one
// by one only if at least one of them is in the table.
func (f *filter) skipShort(p []byte, from int) int {
	const next = 8 * shortStride // offset in bits of the second block in a word
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

// fewShort is skipShort one block at a time, for the blocks from i to before end.
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

// begins returns the first place at or after from at which a value may begin, given the block at i and its
// places; -1: there is none.
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
