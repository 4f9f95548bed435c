package answer

import "coderunner/runners"

// What a client gets of each part, in bytes, in the text and in the structured
// content: together well below the 25,000 tokens at which clients cut, and with
// the images below the megabyte that some clients take. A resource has the
// whole of what is cut.
const (
	MaxText       = 24_000 // of stdout
	maxStderrText = 8_000
	maxFloodText  = 4_000 // of a stream, where a program was stopped since it printed without end
	maxResultText = 8_000
	MaxErrorText  = 8_000
	maxShownText  = 8_000 // of all displays
	maxInlineFile = 2_000 // of one file
	maxInline     = 6_000 // of all files
	MaxImages     = 560 << 10
	maxImageCount = 8
	maxListed     = 50 // displays and files, each
)

// clip cuts a text and keeps the whole of it as a resource.
func (a *Answer) clip(name, mime, text, whole string, limit int) (shown string, cut bool) {
	if runners.Clip(text, limit) == text {
		return text, false
	}
	return runners.ClipMore(text, limit, "; all: "+a.resources.Keep(name, mime, "", []byte(whole))), true
}

// stream returns what is shown of a stream. Whole is all of it if text was cut
// and all was kept.
func (a *Answer) stream(name, text, whole string, limit int) (shown string, cut bool) {
	if whole == "" {
		whole = text
	}
	return a.clip(name, "text/plain", OnTerminal(whole), whole, limit)
}
