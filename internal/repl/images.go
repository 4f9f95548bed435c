package repl

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/draw"
	_ "image/gif" // images that programs show
	_ "image/jpeg"
	"image/png"
	"slices"
	"strings"

	"github.com/mattn/go-sixel"
)

// imageProtocol returns how the terminal shows images, by the variables that
// terminals set.
func imageProtocol(env func(string) string) func(mime string, data []byte) (string, bool) {
	kind, program := env("TERM"), env("TERM_PROGRAM")
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(kind, name) || strings.EqualFold(program, name) })
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

// sixelImage shows an image on white, as a page does.
func sixelImage(_ string, _ []byte, img image.Image) string {
	page := image.NewRGBA(image.Rectangle{Max: img.Bounds().Size()})
	draw.Draw(page, page.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(page, page.Rect, img, img.Bounds().Min, draw.Over)
	var out strings.Builder
	if sixel.NewEncoder(&out).Encode(page) != nil {
		return ""
	}
	return out.String()
}
