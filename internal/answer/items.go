package answer

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"coderunner/internal/images"
	"coderunner/runners"
)

// displays adds what the program showed.
func (a *Answer) displays(out *runners.Outcome) {
	room := maxShownText
	for i, d := range out.Displays {
		if i >= maxListed {
			out.DisplaysOmitted += len(out.Displays) - i
			break
		}
		name := fmt.Sprintf("display-%d%s", i+1, runners.Extension(d.MIME))
		it := Item{MIME: d.MIME, Size: int64(len(d.Data))}
		text := d.Plain
		if text == "" && d.Text() {
			text = string(d.Data)
		}
		if d.Plain != "" || d.Image() || len(text) > room {
			it.URI = a.resources.Keep(name, d.MIME, "", d.Data)
		}
		it.Text = runners.Clip(text, max(room, 200))
		room = max(room-len(it.Text), 0)
		if d.Image() {
			it.Text = ""
			a.image(&it, d.Data)
		}
		a.Structured.Displays = append(a.Structured.Displays, it)
	}
	if out.DisplaysOmitted > 0 {
		a.Structured.Notes = append(a.Structured.Notes, fmt.Sprintf("%d more displays are not kept.", out.DisplaysOmitted))
	}
}

// files adds what the program left in its working directory.
func (a *Answer) files(out *runners.Outcome) {
	room := maxInline
	for i, f := range out.Files {
		if i >= maxListed {
			out.FilesOmitted += len(out.Files) - i
			break
		}
		it := Item{Path: runners.Clip(f.Path, maxNameText), MIME: f.MIME, Size: f.Size, SHA256: f.SHA256}
		if f.Data != nil {
			if k := out.Continued; k != nil && !k.RolledBack {
				it.URI = a.resources.SessionFile(k.Session, f.Path)
			} else {
				it.URI = a.resources.Keep(f.Path, f.MIME, f.SHA256, f.Data)
			}
			if len(f.Data) <= min(room, maxInlineFile) && utf8.Valid(f.Data) && f.MIME != "application/octet-stream" {
				it.Text = OnTerminal(string(f.Data))
				room -= len(f.Data)
			}
			if (runners.Display{MIME: f.MIME}).Image() {
				a.image(&it, f.Data)
			}
		}
		a.Structured.Files = append(a.Structured.Files, it)
	}
	if out.FilesOmitted > 0 {
		where := "not listed and not kept: write so many into one archive (zip, tar), or use a session"
		if out.Continued != nil {
			where = "in the session; list_files lists them"
		}
		a.Structured.Notes = append(a.Structured.Notes, fmt.Sprintf("At least %d more files are %s.", out.FilesOmitted, where))
	}
}

// image makes an image one that is shown, if there is room.
func (a *Answer) image(it *Item, data []byte) {
	if a.imageCount >= maxImageCount || a.imageRoom <= 0 {
		return
	}
	// The first may take half, so that something is left for others.
	m, err := images.Fit(data, max(a.imageRoom/2, min(a.imageRoom, MaxImages/maxImageCount)))
	if err != nil {
		return // the resource has it
	}
	a.imageRoom -= len(m.Data)
	a.imageCount++
	it.Image = &m
}

// line describes a display or a file in words.
func (it Item) line() string {
	name := it.Path
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		name = fmt.Sprintf("%q", name)
	}
	text := fmt.Sprintf("%s (%s, %s)", name, it.MIME, humanize.Bytes(uint64(it.Size)))
	switch {
	case it.Image != nil:
		text = fmt.Sprintf("%s (%s, %s, shown at %d×%d)", name, it.MIME, humanize.Bytes(uint64(it.Size)), it.Image.Width, it.Image.Height)
	case it.URI == "" && it.Path != "" && !strings.HasPrefix(it.MIME, "inode/"):
		text += ", not kept: too large"
	}
	if it.URI != "" {
		text += " " + it.URI
	}
	return strings.TrimSpace(text)
}
