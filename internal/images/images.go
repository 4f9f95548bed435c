// Package images shrinks images so that they fit into a message.
//
// The images are a program's: their headers are read first, and one with too
// many points is not decoded. internal/answer and internal/server call it.
package images

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decoders
	"image/jpeg"
	"image/png"
	"sync"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // decoder
)

const (
	// maxSide is the longest side of an image that Fit returns, in points:
	// models are shown no more.
	maxSide = 1568
	// maxPoints bounds what is decoded: 128 MB in memory at most.
	maxPoints = 16 << 20
	// minSide is where Fit gives up.
	minSide = 64
)

// errTooLarge is returned for an image that is not decoded.
var errTooLarge = errors.New("too many points to be scaled down")

// Image is an encoded image.
type Image struct {
	Data          []byte
	MIME          string
	Width, Height int
}

// decoding is held while an image is decoded, so that a program's many images
// need the memory of one.
var decoding sync.Mutex

// Fit returns the image itself if it has at most limit bytes and maxSide points on
// a side, or else one that is scaled down, as PNG or JPEG.
func Fit(data []byte, limit int) (Image, error) {
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return Image{}, fmt.Errorf("read image: %w", err)
	}
	if c.Width <= 0 || c.Height <= 0 || c.Width > maxPoints/c.Height {
		return Image{}, fmt.Errorf("%d×%d: %w", c.Width, c.Height, errTooLarge)
	}
	whole := Image{data, "image/" + format, c.Width, c.Height}
	if len(data) <= limit && c.Width <= maxSide && c.Height <= maxSide {
		return whole, nil
	}
	decoding.Lock()
	defer decoding.Unlock()
	decoded, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return Image{}, fmt.Errorf("decode image: %w", err)
	}
	for side := min(maxSide, max(c.Width, c.Height)); side >= minSide; side = side * 3 / 4 {
		small := scale(decoded, side)
		for _, encode := range []func(image.Image) ([]byte, string, error){asPNG, asJPEG} {
			out, mime, err := encode(small)
			if err != nil {
				return Image{}, fmt.Errorf("encode image: %w", err)
			}
			if len(out) <= limit {
				return Image{out, mime, small.Bounds().Dx(), small.Bounds().Dy()}, nil
			}
		}
	}
	return Image{}, fmt.Errorf("%d×%d: does not fit into %d bytes", c.Width, c.Height, limit)
}

// scale returns an image whose longer side has so many points.
func scale(from image.Image, side int) image.Image {
	b := from.Bounds()
	long := max(b.Dx(), b.Dy())
	to := image.NewNRGBA(image.Rect(0, 0, max(1, b.Dx()*side/long), max(1, b.Dy()*side/long)))
	draw.ApproxBiLinear.Scale(to, to.Bounds(), from, b, draw.Src, nil)
	return to
}

func asPNG(m image.Image) ([]byte, string, error) {
	var b bytes.Buffer
	err := png.Encode(&b, m)
	return b.Bytes(), "image/png", err
}

// asJPEG encodes on white: JPEG has no transparency.
func asJPEG(m image.Image) ([]byte, string, error) {
	flat := image.NewRGBA(m.Bounds())
	draw.Draw(flat, flat.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(flat, flat.Bounds(), m, m.Bounds().Min, draw.Over)
	var b bytes.Buffer
	err := jpeg.Encode(&b, flat, &jpeg.Options{Quality: 80})
	return b.Bytes(), "image/jpeg", err
}
