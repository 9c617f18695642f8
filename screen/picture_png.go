package screen

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"sync"
)

// A pngWriter makes a PNG of rows of pixels. Unlike image/png it does not need all of
// a picture at once, nor the palette before the end: of a large screen, which is
// written in pieces, little has to be in memory.
type pngWriter struct {
	width, height int
	trueColor     bool
	row           []byte // a kind of filter, and the pixels
	data          bytes.Buffer
	deflate       *zlib.Writer
}

// deflaters are kept for the next picture: one takes 1 MB. At their best speed they
// would take half the time, and leave pictures four times as large.
var deflaters = sync.Pool{New: func() any { return zlib.NewWriter(nil) }}

func newPNGWriter(width, height int, trueColor bool) *pngWriter {
	w := &pngWriter{width: width, height: height, trueColor: trueColor, deflate: deflaters.Get().(*zlib.Writer)}
	w.deflate.Reset(&w.data)
	w.row = make([]byte, 1+width*w.pixelBytes())
	return w
}

func (w *pngWriter) close() { deflaters.Put(w.deflate) }

func (w *pngWriter) pixelBytes() int {
	if w.trueColor {
		return 3
	}
	return 1
}

// write takes whole rows of pixels. No filter is used, which would help photographs
// alone. A buffer takes all that is written, so there are no errors.
func (w *pngWriter) write(pixels []uint32) {
	for ; len(pixels) > 0; pixels = pixels[w.width:] {
		row := w.row[1:]
		if w.trueColor {
			for x, p := range pixels[:w.width] {
				row[3*x], row[3*x+1], row[3*x+2] = byte(p>>16), byte(p>>8), byte(p)
			}
		} else {
			for x, p := range pixels[:w.width] {
				row[x] = byte(p)
			}
		}
		w.deflate.Write(w.row)
	}
}

// finish returns the file. The palette is that of a picture that has one.
func (w *pngWriter) finish(palette []rgb) []byte {
	w.deflate.Close()
	header := binary.BigEndian.AppendUint32(nil, uint32(w.width))
	header = binary.BigEndian.AppendUint32(header, uint32(w.height))
	b := make([]byte, 0, w.data.Len()+3*len(palette)+100)
	b = append(b, "\x89PNG\r\n\x1a\n"...)
	if w.trueColor {
		b = appendChunk(b, "IHDR", append(header, 8, 2, 0, 0, 0)) // 8 bits each of red, green, blue
	} else {
		b = appendChunk(b, "IHDR", append(header, 8, 3, 0, 0, 0)) // an index of 8 bits
		var entries []byte
		for _, c := range palette {
			entries = append(entries, byte(c>>16), byte(c>>8), byte(c))
		}
		b = appendChunk(b, "PLTE", entries)
	}
	b = appendChunk(b, "IDAT", w.data.Bytes())
	return appendChunk(b, "IEND", nil)
}

func appendChunk(b []byte, name string, data []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	begin := len(b)
	b = append(append(b, name...), data...)
	return binary.BigEndian.AppendUint32(b, checksum(b[begin:]))
}

// checksumOf is what becomes of the lowest four bits.
var checksumOf = [16]uint32{
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
	0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
}

// checksum is the CRC-32 of the format. hash/crc32 is faster, but makes its tables when
// a program starts, and of ours many short ones are started that draw nothing.
func checksum(b []byte) uint32 {
	sum := ^uint32(0)
	for _, c := range b {
		sum ^= uint32(c)
		sum = sum>>4 ^ checksumOf[sum&15]
		sum = sum>>4 ^ checksumOf[sum&15]
	}
	return ^sum
}
