package images

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"
)

// noise returns an image that does not compress.
func noise(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = byte(r.Uint32())
	}
	return m
}

func encoded(format string, m image.Image) []byte {
	var b bytes.Buffer
	switch format {
	case "png":
		_ = png.Encode(&b, m)
	case "jpeg":
		_ = jpeg.Encode(&b, m, nil)
	case "gif":
		_ = gif.Encode(&b, m, nil)
	}
	return b.Bytes()
}

func TestFit(t *testing.T) {
	flat := image.NewPaletted(image.Rect(0, 0, 3000, 20), color.Palette{color.White})
	for _, tt := range []struct {
		name, format  string
		from          image.Image
		limit         int
		mime          string
		width, height int
	}{
		{"small", "png", noise(20, 10), 1 << 20, "image/png", 20, 10},
		{"small", "jpeg", noise(20, 10), 1 << 20, "image/jpeg", 20, 10},
		{"small", "gif", noise(20, 10), 1 << 20, "image/gif", 20, 10},
		{"long", "png", flat, 1 << 20, "image/png", maxSide, 10},
		{"long", "gif", flat, 1 << 20, "image/png", maxSide, 10},
		{"thin", "png", image.NewGray(image.Rect(0, 0, 1, 2000)), 1 << 20, "image/png", 1, maxSide},
		{"many bytes", "png", noise(400, 200), 100_000, "image/jpeg", 400, 200},
	} {
		data := encoded(tt.format, tt.from)
		got, err := Fit(data, tt.limit)
		if err != nil || got.MIME != tt.mime || got.Width != tt.width || got.Height != tt.height || len(got.Data) > tt.limit {
			t.Errorf("%s %s: %s %d×%d of %d bytes, %v; want %s %d×%d", tt.name, tt.format, got.MIME, got.Width, got.Height, len(got.Data), err, tt.mime, tt.width, tt.height)
			continue
		}
		if c, format, err := image.DecodeConfig(bytes.NewReader(got.Data)); err != nil || "image/"+format != got.MIME || c.Width != got.Width || c.Height != got.Height {
			t.Errorf("%s %s: it is %s of %d×%d, %v", tt.name, tt.format, format, c.Width, c.Height, err)
		}
	}
	for name, data := range map[string][]byte{"nothing": nil, "text": []byte("GIF is no image"), "half": encoded("png", noise(1000, 2000))[:3000], "few bytes": encoded("png", noise(400, 200))} {
		if got, err := Fit(data, 100); err == nil {
			t.Errorf("%s: %s of %d bytes, want an error", name, got.MIME, len(got.Data))
		}
	}
}

// claiming returns a PNG that claims to have so many points.
func claiming(w, h uint32) []byte {
	data := encoded("png", noise(2, 2))
	binary.BigEndian.PutUint32(data[16:], w)
	binary.BigEndian.PutUint32(data[20:], h)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

// TestTooLarge has images that claim more points than are decoded.
func TestTooLarge(t *testing.T) {
	for _, size := range [][2]uint32{{1 << 13, 1 << 13}, {1<<31 - 1, 1}, {1 << 16, 1 << 16}} {
		if _, err := Fit(claiming(size[0], size[1]), 1<<20); !errors.Is(err, errTooLarge) {
			t.Errorf("%d×%d: %v", size[0], size[1], err)
		}
	}
}

// FuzzFit changes images, and the sizes that they claim. What Fit returns is within
// the limits, and an image.
func FuzzFit(f *testing.F) {
	for _, format := range []string{"png", "jpeg", "gif"} {
		f.Add(encoded(format, noise(70, 40)), uint16(5000))
	}
	f.Add(claiming(1<<20, 16), uint16(100))
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\xff\xff\xff\x0f"), uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, limit uint16) {
		if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && c.Width > 0 && c.Height > 0 && c.Width <= maxPoints/c.Height && c.Width*c.Height > 1<<20 {
			t.Skip("is decoded, slowly")
		}
		got, err := Fit(data, int(limit))
		if err != nil {
			return
		}
		if len(got.Data) > int(limit) || got.Width > maxSide || got.Height > maxSide || got.Width < 1 || got.Height < 1 {
			t.Errorf("%d×%d of %d bytes, limit %d", got.Width, got.Height, len(got.Data), limit)
		}
	})
}
