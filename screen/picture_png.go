package screen

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"sync"
)

// encoder compresses at the default level. The fastest level takes half the time, and makes text four times as large.
var encoder = png.Encoder{BufferPool: new(encoderBuffers)}

// encoderBuffers keeps the encoder's working memory, 1 MB, for the next picture.
type encoderBuffers struct{ pool sync.Pool }

func (b *encoderBuffers) Get() *png.EncoderBuffer {
	buffer, _ := b.pool.Get().(*png.EncoderBuffer)
	return buffer // nil makes the encoder allocate one
}

func (b *encoderBuffers) Put(buffer *png.EncoderBuffer) { b.pool.Put(buffer) }

// encode returns the picture as a PNG file.
func (p *painter) encode() ([]byte, error) {
	var file bytes.Buffer
	if err := encoder.Encode(&file, p); err != nil {
		return nil, err
	}
	return file.Bytes(), nil
}

// A painter is an image that draws each row of cells when the encoder, which reads from top to bottom, asks for its
// first pixel. Only that row is in memory: all pixels of the largest picture would take 130 MB.
var _ image.PalettedImage = (*painter)(nil)

// Bounds returns the size in pixels.
func (p *painter) Bounds() image.Rectangle {
	return image.Rect(0, 0, p.width, p.snapshot.Rows*cellHeight)
}

// ColorModel returns the palette if the picture has one.
func (p *painter) ColorModel() color.Model {
	if p.inks.trueColor {
		return color.RGBAModel
	}
	return p.inks.palette
}

// Opaque makes the encoder skip the search for transparent pixels.
func (p *painter) Opaque() bool { return true }

// ColorIndexAt returns a pixel's index in the palette.
func (p *painter) ColorIndexAt(x, y int) uint8 { return uint8(*p.pixel(x, y)) }

// At returns a pixel's colour if there is no palette. It is a pointer into the row, since a value would be allocated
// for each pixel.
func (p *painter) At(x, y int) color.Color { return p.pixel(x, y) }

func (p *painter) pixel(x, y int) *rgb {
	if row := y / cellHeight; row != p.row {
		p.paintRow(row)
	}
	return &p.pixels[y%cellHeight*p.width+x]
}

// RGBA makes *rgb a color.Color.
func (c *rgb) RGBA() (r, g, b, a uint32) {
	return uint32(*c>>16&0xff) * 0x101, uint32(*c>>8&0xff) * 0x101, uint32(*c&0xff) * 0x101, 0xffff
}
