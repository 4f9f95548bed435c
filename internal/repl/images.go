package repl

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color/palette"
	"image/draw"
	_ "image/gif" // images that programs show
	_ "image/jpeg"
	"image/png"
	"strings"
)

// imageProtocol returns how the terminal shows images, by the variables that
// terminals set.
func imageProtocol(env func(string) string) func(mime string, data []byte) (string, bool) {
	kind, program := env("TERM"), env("TERM_PROGRAM")
	has := func(names ...string) bool {
		for _, name := range names {
			if strings.Contains(kind, name) || strings.EqualFold(program, name) {
				return true
			}
		}
		return false
	}
	var show func(mime string, data []byte, img image.Image) string
	switch {
	case env("TMUX") != "" || strings.HasPrefix(kind, "screen"): // they swallow it
	case env("KITTY_WINDOW_ID") != "" || has("kitty", "ghostty"):
		show = kittyImage
	case has("iTerm.app", "WezTerm") || env("LC_TERMINAL") == "iTerm2":
		show = itermImage
	case has("sixel", "mlterm", "foot", "contour", "yaft"):
		show = sixelImage
	}
	return func(mime string, data []byte) (string, bool) {
		if show == nil {
			return "", false
		}
		// Only what is an image, and not too large for a terminal, is shown.
		if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err != nil || c.Width*c.Height > 16<<20 {
			return "", false
		}
		img, _, err := image.Decode(bytes.NewReader(data))
		if err != nil {
			return "", false
		}
		return show(mime, data, img), true
	}
}

// kittyImage shows a PNG in chunks. Source: "Terminal graphics protocol" of kitty.
func kittyImage(mime string, data []byte, img image.Image) string {
	if mime != "image/png" {
		var b bytes.Buffer
		if png.Encode(&b, img) != nil {
			return ""
		}
		data = b.Bytes()
	}
	var out strings.Builder
	rest := base64.StdEncoding.EncodeToString(data)
	for first := true; first || rest != ""; first = false {
		chunk := rest[:min(len(rest), 4096)]
		rest = rest[len(chunk):]
		more := 0
		if rest != "" {
			more = 1
		}
		control := fmt.Sprintf("m=%d", more)
		if first {
			control = "a=T,f=100,q=2," + control
		}
		out.WriteString("\x1b_G" + control + ";" + chunk + "\x1b\\")
	}
	return out.String()
}

// itermImage shows an image. Source: "Inline Images Protocol" of iTerm2.
func itermImage(_ string, data []byte, _ image.Image) string {
	return fmt.Sprintf("\x1b]1337;File=inline=1;size=%d:%s\a", len(data), base64.StdEncoding.EncodeToString(data))
}

// sixelImage shows an image in 256 colours, six rows at a time. Source: "VT330/VT340
// Programmer Reference Manual", volume 2, chapter 14.
func sixelImage(_ string, _ []byte, img image.Image) string {
	size := img.Bounds().Size()
	p := image.NewPaletted(image.Rectangle{Max: size}, palette.Plan9)
	draw.Draw(p, p.Rect, image.White, image.Point{}, draw.Src)
	draw.FloydSteinberg.Draw(p, p.Rect, img, img.Bounds().Min)
	var out strings.Builder
	fmt.Fprintf(&out, "\x1bPq\"1;1;%d;%d", size.X, size.Y)
	for i, c := range p.Palette {
		r, g, b, _ := c.RGBA()
		fmt.Fprintf(&out, "#%d;2;%d;%d;%d", i, r*100/0xffff, g*100/0xffff, b*100/0xffff)
	}
	for top := 0; top < size.Y; top += 6 {
		var bands [256][]byte // by colour
		for y := top; y < min(top+6, size.Y); y++ {
			for x := range size.X {
				c := p.ColorIndexAt(x, y)
				if bands[c] == nil {
					bands[c] = bytes.Repeat([]byte{'?'}, size.X)
				}
				bands[c][x] += 1 << (y - top)
			}
		}
		for c, band := range bands {
			if band != nil {
				fmt.Fprintf(&out, "#%d%s$", c, band)
			}
		}
		out.WriteByte('-')
	}
	return out.String() + "\x1b\\"
}
