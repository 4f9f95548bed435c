package runners

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Display is something that a program showed: an image, a chart, a table. Make
// them with [Displays.Add].
type Display struct {
	MIME  string
	Data  []byte // text in UTF-8, JSON, or an image
	Plain string // the same as text, where there is such a form
}

// MarshalJSON has the data as "json", "text", or "base64".
func (d Display) MarshalJSON() ([]byte, error) {
	v := map[string]any{"mime": d.MIME}
	switch {
	case d.Image():
		v["base64"] = d.Data
	case isJSON(d.MIME):
		v["json"] = json.RawMessage(d.Data)
	default:
		v["text"] = string(d.Data)
	}
	if d.Plain != "" {
		v["plain"] = d.Plain
	}
	return json.Marshal(v)
}

func isJSON(mime string) bool {
	return mime == "application/json" || strings.HasPrefix(mime, "application/") && strings.HasSuffix(mime, "+json")
}

// Text reports whether Data is text.
func (d Display) Text() bool { return !isImage(d.MIME) }

// Image reports whether Data is an image of points, which clients show.
func (d Display) Image() bool { return isImage(d.MIME) }

func isImage(mime string) bool { return signatures[mime] != "" }

// signatures are how images begin.
var signatures = map[string]string{
	"image/png": "\x89PNG\r\n\x1a\n", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF",
}

// Bounds of what a program may show; what exceeds them is counted.
const (
	maxDisplays     = 100
	MaxDisplay      = 8 << 20 // bytes of one
	maxDisplayBytes = 24 << 20
	maxPlain        = 50_000
)

// Displays collects what a program shows. It is safe for concurrent use.
type Displays struct {
	mu      sync.Mutex
	list    []Display
	bytes   int
	omitted int
}

// textTypes are the types of text that programs show, best first for a reader.
var textTypes = []string{"image/svg+xml", "text/html", "text/markdown", "text/latex", "text/plain", "application/json"}

// Add adds what a program claims to show: base64 for an image, else text. The
// error is for the program. What exceeds the bounds is only counted, as is what
// has no type.
func (d *Displays) Add(mime, data, plain string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if mime == "" || len(d.list) >= maxDisplays || len(data) > base64.StdEncoding.EncodedLen(MaxDisplay) || d.bytes+len(data) > maxDisplayBytes {
		d.omitted++
		return nil
	}
	show := Display{MIME: mime, Plain: Clip(strings.ToValidUTF8(plain, "\ufffd"), maxPlain)}
	switch {
	case isImage(mime):
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil || !bytes.HasPrefix(raw, []byte(signatures[mime])) {
			return fmt.Errorf("the data is not an image of type %s in base64", mime)
		}
		show.Data = raw
	case isJSON(mime) && len(mime) < 100:
		if show.Data = PortableJSON([]byte(data)); show.Data == nil {
			return fmt.Errorf("the data of type %s is not JSON that every parser reads", mime)
		}
	case slices.Contains(textTypes, mime):
		show.Data = []byte(strings.ToValidUTF8(data, "\ufffd"))
	default:
		return fmt.Errorf("data of type %.100q cannot be shown", mime)
	}
	d.bytes += len(show.Data) + len(show.Plain)
	d.list = append(d.list, show)
	return nil
}

// Omit counts n more displays that are not kept.
func (d *Displays) Omit(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.omitted += n
}

// All returns what was added, and how much more there was. A nil d has nothing.
func (d *Displays) All() (list []Display, omitted int) {
	if d == nil {
		return nil, 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.list, d.omitted
}
