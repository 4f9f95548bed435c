package repl

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
)

// TestImages has the beginning and the end of a picture as terminals want it.
func TestImages(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 7, 13))
	img.Set(3, 3, color.NRGBA{R: 255, A: 255})
	var data bytes.Buffer
	if err := png.Encode(&data, img); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, value, begins, ends string }{
		{"TERM", "xterm-kitty", "\x1b_Ga=T,f=100,q=2,m=0;", "\x1b\\"},
		{"TERM_PROGRAM", "WezTerm", "\x1b]1337;File=inline=1;size=", "\a"},
		{"TERM", "foot", "\x1bP", "\x1b\\"},
		{"TERM", "xterm", "", ""},
	} {
		show := imageProtocol(func(name string) string { return map[string]string{tt.name: tt.value}[name] })
		got, ok := show("image/png", data.Bytes())
		if ok != (tt.begins != "") || !strings.HasPrefix(got, tt.begins) || !strings.HasSuffix(got, tt.ends) {
			t.Errorf("%s=%s: %q, %t", tt.name, tt.value, got, ok)
		}
		if tt.value == "foot" && !strings.Contains(got, `"1;1;7;13`) {
			t.Errorf("sixel: %q has not the size", got)
		}
		if _, ok := show("image/png", []byte("\x89PNG")); ok {
			t.Errorf("%s=%s shows what is no image", tt.name, tt.value)
		}
	}
}
