// Package answer turns an [runners.Outcome] into what a client gets: structured content, and
// text for a model, both within the bounds that clients have.
//
// It knows no protocol: internal/server sends an answer, with its images and links. What
// does not fit becomes a resource, which is the caller's to keep.
package answer

import (
	"fmt"
	"strings"

	"coderunner/runners"
)

// Answer is what a client gets of an outcome.
type Answer struct {
	Structured Structured // the displays and files in it have the images to show

	value     string // the value as text
	apart     bool   // it has lines of its own, whose columns stay aligned
	limits    runners.Limits
	code      string // of the program
	resources Resources

	imageRoom, imageCount int
}

// Resources are what a client can ask for besides an answer.
type Resources interface {
	// Keep keeps data that an answer has not, or not all of, and returns its URI.
	Keep(name, mime, sha256 string, data []byte) (uri string)
	// SessionFile returns the URI of a file of a session.
	SessionFile(session, path string) (uri string)
}

// New makes the answer to a request whose program ran within some limits. What is cut,
// displays and files become resources.
func New(out *runners.Outcome, req runners.Request, limits runners.Limits, resources Resources) *Answer {
	a := &Answer{limits: limits, code: req.Code, resources: resources, imageRoom: MaxImages}
	a.Structured = Structured{Status: out.Status, Language: out.Language, ExitCode: out.ExitCode, Error: shortError(out.Error)}
	most := int(limits.Output)
	if out.Status == runners.OutputLimit {
		most = min(most, maxFloodText)
	}
	a.Structured.Stdout, a.Structured.StdoutTruncated = a.stream("stdout.txt", out.Stdout, out.WholeStdout, min(MaxText, most))
	a.Structured.Stderr, a.Structured.StderrTruncated = a.stream("stderr.txt", out.Stderr, out.WholeStderr, min(maxStderrText, most))
	a.Structured.StdoutTruncated = a.Structured.StdoutTruncated || out.StdoutTruncated
	a.Structured.StderrTruncated = a.Structured.StderrTruncated || out.StderrTruncated
	if out.Result != nil && out.Status == runners.Succeeded {
		a.result(out.Result)
	}
	a.displays(out)
	a.files(out)
	a.refusals(out)
	if fetched := out.Fetched(); fetched != "" {
		if took := out.Usage.PrepareMS / 1000; took > 0 {
			fetched += fmt.Sprintf(" That took %d s, once: the next call takes milliseconds.", took)
		}
		a.Structured.Notes = append(a.Structured.Notes, fetched)
	}
	if out.Note != "" {
		a.Structured.Notes = append(a.Structured.Notes, out.Note)
	}
	a.session(out)
	return a
}

// maxNameText bounds the names in a result, in bytes: a program chooses the
// type of what it throws.
const maxNameText = 1000

// shortError returns an error within the bounds that a result has.
func shortError(e *runners.Error) *runners.Error {
	if e == nil {
		return nil
	}
	e = errorOnTerminal(e)
	short := runners.Error{
		Type: runners.Clip(e.Type, maxNameText), Message: runners.Clip(e.Message, MaxErrorText),
		Traceback: runners.Clip(e.Traceback, MaxErrorText), Line: e.Line,
		Hint: runners.Clip(e.Hint, MaxErrorText),
	}
	for _, p := range e.Packages {
		short.Packages = append(short.Packages, runners.PackageError{Name: runners.Clip(p.Name, maxNameText), Reason: runners.Clip(p.Reason, maxNameText)})
	}
	return &short
}

// result sets the value.
func (a *Answer) result(v *runners.Value) {
	text := v.Text
	if rows, ok := table(v.JSON); ok && strings.HasPrefix(text, "[") { // else the text is a table already
		text = rows
	} else {
		a.apart = strings.Contains(text, "\n")
	}
	if len(v.JSON) > 0 && len(v.JSON) <= maxResultText {
		a.value = runners.Clip(text, maxResultText)
		a.Structured.Result = &Value{JSON: v.JSON}
		return
	}
	name, mime, whole := "result.txt", "text/plain", text
	if len(v.JSON) > 0 {
		name, mime, whole = "result.json", "application/json", string(v.JSON)
	}
	a.value, _ = a.clip(name, mime, text, whole, maxResultText)
	a.Structured.Result = &Value{Text: a.value}
}

// maxRefusals bounds the sentences about the network.
const maxRefusals = 3

// refusals adds what the network refused.
func (a *Answer) refusals(out *runners.Outcome) {
	refused := out.Refusals()
	for _, why := range refused[:min(len(refused), maxRefusals)] {
		a.Structured.Notes = append(a.Structured.Notes, why+".")
	}
	if more := len(refused) - maxRefusals; more > 0 {
		a.Structured.Notes = append(a.Structured.Notes, fmt.Sprintf("Hosts refused besides: %d.", more))
	}
}
