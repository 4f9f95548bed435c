package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"coderunner/internal/images"
	"coderunner/runners"
)

// What a client gets of each part, in bytes, in the text and in the structured
// content: together well below the 25,000 tokens at which clients cut, and with
// the images below the megabyte that some clients take. A resource has the
// whole of what is cut.
const (
	maxStdoutText = 24_000
	maxStderrText = 8_000
	maxResultText = 8_000
	maxErrorText  = 8_000
	maxShownText  = 8_000 // of all displays
	maxInlineFile = 2_000 // of one file
	maxInline     = 6_000 // of all files
	maxImages     = 560 << 10
	maxImageCount = 8
	maxListed     = 50 // displays and files, each
)

// shownResult is an outcome as clients get it: what is empty is left out, and
// the value stands once, as JSON if it has such a form.
type shownResult struct {
	Status          runners.Status   `json:"status"`
	Language        runners.Language `json:"language,omitempty"`
	ExitCode        int              `json:"exit_code,omitempty"`
	Stdout          string           `json:"stdout,omitempty"`
	Stderr          string           `json:"stderr,omitempty"`
	StdoutTruncated bool             `json:"stdout_truncated,omitempty"`
	StderrTruncated bool             `json:"stderr_truncated,omitempty"`
	Result          *shownValue      `json:"result,omitempty"`
	Error           *runners.Error   `json:"error,omitempty"`
	Displays        []shownItem      `json:"displays,omitempty"`
	Files           []shownItem      `json:"files,omitempty"`
	Session         *shownSession    `json:"session,omitempty"`
}

type shownValue struct {
	Text string          `json:"text,omitempty"`
	JSON json.RawMessage `json:"json,omitempty"`
}

// shownItem is a display or a file.
type shownItem struct {
	Path string `json:"path,omitempty"`
	MIME string `json:"mime"`
	Size int64  `json:"size"`
	Text string `json:"text,omitempty"`
	URI  string `json:"uri,omitempty"`

	image  *images.Image // to be shown
	sha256 string
}

// shownSession is what a result says of its session.
type shownSession struct {
	Name  string `json:"name"`
	State int    `json:"state"`
	Note  string `json:"note,omitempty"`
}

// content is what a call returns, under construction.
type content struct {
	shown  shownResult
	value  string // the value as text
	apart  bool   // it has lines of its own, whose columns stay aligned
	limits runners.Limits
	code   string // of the program
	kept   *keptRun
	more   []string // sentences about what is not there

	imageRoom, imageCount int
}

// newContent makes an outcome what a client gets of it. What is cut, displays
// and files are added to kept.
func newContent(out *runners.Outcome, req runners.Request, limits runners.Limits, kept *keptRun) *content {
	c := &content{limits: limits, code: req.Code, kept: kept, imageRoom: maxImages}
	c.shown = shownResult{Status: out.Status, Language: out.Language, ExitCode: out.ExitCode, Error: shortError(out.Error)}
	c.shown.Stdout, c.shown.StdoutTruncated = c.stream("stdout.txt", out.Stdout, out.WholeStdout, min(maxStdoutText, int(limits.Output)))
	c.shown.Stderr, c.shown.StderrTruncated = c.stream("stderr.txt", out.Stderr, out.WholeStderr, min(maxStderrText, int(limits.Output)))
	c.shown.StdoutTruncated = c.shown.StdoutTruncated || out.StdoutTruncated
	c.shown.StderrTruncated = c.shown.StderrTruncated || out.StderrTruncated
	if out.Result != nil && out.Status == runners.Succeeded {
		c.result(out.Result)
	}
	c.displays(out)
	c.files(out)
	c.refusals(out)
	if out.Note != "" {
		c.more = append(c.more, out.Note)
	}
	return c
}

// maxNameText bounds the names in a result, in bytes: a program chooses the
// type of what it throws.
const maxNameText = 1000

// shortError returns an error within the bounds that a result has.
func shortError(e *runners.Error) *runners.Error {
	if e == nil {
		return nil
	}
	e = foldError(e)
	short := runners.Error{
		Type: runners.Clip(e.Type, maxNameText), Message: runners.Clip(e.Message, maxErrorText),
		Traceback: runners.Clip(e.Traceback, maxErrorText), Line: e.Line,
		Hint: runners.Clip(e.Hint, maxErrorText),
	}
	for _, p := range e.Packages {
		short.Packages = append(short.Packages, runners.PackageError{Name: runners.Clip(p.Name, maxNameText), Reason: runners.Clip(p.Reason, maxNameText)})
	}
	return &short
}

// foldError returns an error as a terminal would show it: some libraries underline
// what is wrong.
func foldError(e *runners.Error) *runners.Error {
	folded := *e
	folded.Message, folded.Traceback = foldTerminal(e.Message), foldTerminal(e.Traceback)
	return &folded
}

// clip cuts a text and keeps the whole of it as a resource.
func (c *content) clip(name, mime, text, whole string, limit int) (shown string, cut bool) {
	if runners.Clip(text, limit) == text {
		return text, false
	}
	return runners.ClipMore(text, limit, "; all: "+c.kept.add(name, mime, "", []byte(whole))), true
}

// stream returns what is shown of a stream. Whole is all of it if text was cut
// and all was kept.
func (c *content) stream(name, text, whole string, limit int) (shown string, cut bool) {
	if whole == "" {
		whole = text
	}
	return c.clip(name, "text/plain", foldTerminal(whole), whole, limit)
}

// result sets the value.
func (c *content) result(v *runners.Value) {
	text := v.Text
	if rows, ok := table(v.JSON); ok && strings.HasPrefix(text, "[") { // else the text is a table already
		text = rows
	} else {
		c.apart = strings.Contains(text, "\n")
	}
	if len(v.JSON) > 0 && len(v.JSON) <= maxResultText {
		c.value = runners.Clip(text, maxResultText)
		c.shown.Result = &shownValue{JSON: v.JSON}
		return
	}
	name, mime, whole := "result.txt", "text/plain", text
	if len(v.JSON) > 0 {
		name, mime, whole = "result.json", "application/json", string(v.JSON)
	}
	c.value, _ = c.clip(name, mime, text, whole, maxResultText)
	c.shown.Result = &shownValue{Text: c.value}
}

// displays adds what the program showed.
func (c *content) displays(out *runners.Outcome) {
	room := maxShownText
	for i, d := range out.Displays {
		if i >= maxListed {
			out.DisplaysOmitted += len(out.Displays) - i
			break
		}
		name := fmt.Sprintf("display-%d%s", i+1, runners.Extension(d.MIME))
		it := shownItem{MIME: d.MIME, Size: int64(len(d.Data))}
		text := d.Plain
		if text == "" && d.Text() {
			text = string(d.Data)
		}
		if d.Plain != "" || d.Image() || len(text) > room {
			it.URI = c.kept.add(name, d.MIME, "", d.Data)
		}
		it.Text = runners.Clip(text, max(room, 200))
		room = max(room-len(it.Text), 0)
		if d.Image() {
			it.Text = ""
			c.image(&it, d.Data)
		}
		c.shown.Displays = append(c.shown.Displays, it)
	}
	if out.DisplaysOmitted > 0 {
		c.more = append(c.more, fmt.Sprintf("%d more displays are not kept.", out.DisplaysOmitted))
	}
}

// maxRefusals bounds the sentences about the network.
const maxRefusals = 3

// refusals adds what the network refused, unless the error has it.
func (c *content) refusals(out *runners.Outcome) {
	n := 0
	for _, contact := range out.Usage.Contacted {
		if contact.Refused == "" || out.Error != nil && strings.Contains(out.Error.Message, contact.Refused) {
			continue
		}
		if n++; n <= maxRefusals {
			c.more = append(c.more, contact.Refused+".")
		}
	}
	if n > maxRefusals {
		c.more = append(c.more, fmt.Sprintf("%d more hosts were refused.", n-maxRefusals))
	}
}

// files adds what the program left in its working directory.
func (c *content) files(out *runners.Outcome) {
	room := maxInline
	for i, f := range out.Files {
		if i >= maxListed {
			out.FilesOmitted += len(out.Files) - i
			break
		}
		it := shownItem{Path: runners.Clip(f.Path, maxNameText), MIME: f.MIME, Size: f.Size, sha256: f.SHA256}
		if f.Data != nil {
			if k := out.Continued; k != nil && !k.RolledBack {
				it.URI = sessionURI(k.Session, f.Path)
			} else {
				it.URI = c.kept.add(f.Path, f.MIME, f.SHA256, f.Data)
			}
			if len(f.Data) <= min(room, maxInlineFile) && utf8.Valid(f.Data) && f.MIME != "application/octet-stream" {
				it.Text = foldTerminal(string(f.Data))
				room -= len(f.Data)
			}
			if (runners.Display{MIME: f.MIME}).Image() {
				c.image(&it, f.Data)
			}
		}
		c.shown.Files = append(c.shown.Files, it)
	}
	if out.FilesOmitted > 0 {
		c.more = append(c.more, fmt.Sprintf("At least %d more files are not listed and not kept.", out.FilesOmitted))
	}
}

// image makes an image one that is shown, if there is room.
func (c *content) image(it *shownItem, data []byte) {
	if c.imageCount >= maxImageCount || c.imageRoom <= 0 {
		return
	}
	// The first may take half, so that something is left for others.
	m, err := images.Fit(data, max(c.imageRoom/2, min(c.imageRoom, maxImages/maxImageCount)))
	if err != nil {
		return // the resource has it
	}
	c.imageRoom -= len(m.Data)
	c.imageCount++
	it.image = &m
}

// itemText describes a display or a file in words.
func (it shownItem) itemText() string {
	name := it.Path
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		name = fmt.Sprintf("%q", name)
	}
	text := fmt.Sprintf("%s (%s, %s)", name, it.MIME, sizeText(it.Size))
	switch {
	case it.image != nil:
		text = fmt.Sprintf("%s (%s, %s, shown at %d×%d)", name, it.MIME, sizeText(it.Size), it.image.Width, it.image.Height)
	case it.URI == "" && it.Path != "" && !strings.HasPrefix(it.MIME, "inode/"):
		text += ", not kept: too large"
	}
	if it.URI != "" {
		text += " " + it.URI
	}
	return strings.TrimSpace(text)
}

// sizeText writes a number of bytes as people do.
func sizeText(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

// session adds what became of the session, in a sentence if it is not what one
// expects.
func (c *content) session(out *runners.Outcome) {
	k := out.Continued
	if k == nil {
		return
	}
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	switch k.Origin {
	case runners.OriginLost:
		note("The variables of its earlier calls are lost: %s; its files are there.", k.Lost)
	case runners.OriginReplayed:
		note("Its earlier programs were run again to get their variables back.")
	}
	switch {
	case k.Refused != "":
		note("It is as before this call. %s", k.Refused)
	case k.RolledBack:
		note("It is as before this call.")
	case !k.Kept && c.shown.Status == runners.NotInstalled:
		note("It is as before this call.")
	case !k.Kept:
		note("Its variables are as before this call; files that the program wrote are kept.")
	case c.shown.Status != runners.Succeeded:
		note("It goes on with what the program did until then.")
	}
	if k.ThreadsEnded > 0 {
		note("%s: threads last no longer than their call. Have the program wait for what they do (thread.join(), executor.shutdown()).", ended(k.ThreadsEnded, "thread"))
	}
	if k.ProcessesEnded > 0 {
		note("%s: processes last no longer than their call.", ended(k.ProcessesEnded, "process"))
	}
	if k.Kept && k.Unsaved != "" {
		note("Its variables will not survive a restart of the server: %s.", k.Unsaved)
	}
	c.shown.Session = &shownSession{k.Session, k.State, strings.Join(notes, " ")}
}

// ended returns how many threads or processes a session's program left, in words.
func ended(n int, what string) string {
	if n == 1 {
		return "A " + what + " that still ran was ended"
	}
	if what == "process" {
		what += "e"
	}
	return fmt.Sprintf("%d %ss that still ran were ended", n, what)
}
