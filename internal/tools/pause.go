package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"coderunner/runners"
)

// Journal is what a program that is paused has called since it was parked, or began if it never
// was: it is run again from there, and the calls that were answered are answered from here. None
// is sent again.
type Journal struct {
	Answered []Answered `json:"answered,omitempty"`
	Waiting  []Waiting  `json:"waiting,omitempty"`
}

// Answered is a call with its answer.
type Answered struct {
	Tool   string              `json:"tool"`
	Digest string              `json:"digest"` // of the arguments
	Result *runners.ToolResult `json:"result,omitempty"`
	Error  *runners.ToolError  `json:"error,omitempty"`
}

// Waiting is a call that waits for the user's consent.
type Waiting struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Line      int             `json:"line,omitempty"`
	Decision  string          `json:"decision,omitempty"` // "approve" or "reject"; "": none yet
	Instead   json.RawMessage `json:"instead,omitempty"`  // of the arguments
}

// Bounds of a journal.
const (
	maxJournal = 4 << 20 // bytes
	maxWaiting = 64
)

// others is how long a program that is to be paused has for calls beside the first that
// waits: whoever decides sees all of them.
const others = 100 * time.Millisecond

// Decision returns what reads a journal into j, notes a decision about one of the calls that
// wait, counted from 1, or about all of them for 0, and returns the journal and whether all
// is decided. Arguments, if not nil, take the place of the program's.
func (j *Journal) Decision(call int, approve bool, arguments json.RawMessage) func(json.RawMessage) (json.RawMessage, bool, error) {
	return func(text json.RawMessage) (json.RawMessage, bool, error) {
		if err := json.Unmarshal(text, j); err != nil {
			return nil, false, fmt.Errorf("read what the program has called: %w", err)
		}
		n, ready := len(j.Waiting), true
		if call < 0 || call > n {
			return nil, false, fmt.Errorf("%d calls wait, so \"call\" is a number from 1 to %[1]d", n)
		}
		if arguments != nil && call == 0 && n > 1 {
			return nil, false, fmt.Errorf("%d calls wait: say by \"call\" which of them gets other arguments", n)
		}
		for i := range j.Waiting {
			w := &j.Waiting[i]
			switch {
			case call != 0 && i != call-1 || call == 0 && w.Decision != "":
			case approve:
				w.Decision, w.Instead = "approve", arguments
			default:
				w.Decision, w.Instead = "reject", nil
			}
			ready = ready && w.Decision != ""
		}
		text, err := json.Marshal(j)
		return text, ready, err
	}
}

// Text describes the calls that wait, one in a line.
func (j *Journal) Text() string {
	var b strings.Builder
	for i, w := range j.Waiting {
		fmt.Fprintf(&b, "%d. %s(%s)", i+1, w.Tool, runners.Clip(string(w.Arguments), maxAsked))
		if w.Line > 0 {
			fmt.Fprintf(&b, ", line %d", w.Line)
		}
		if w.Decision != "" {
			fmt.Fprintf(&b, ": %s", w.Decision)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Pause lets a run be paused at a call that nobody consents to yet. It is for one run.
type Pause struct {
	stop func() // ends the program

	mu      sync.Mutex
	journal Journal  // of this run
	bytes   int      // of it
	before  Journal  // of the run before, less what was used
	sending int      // calls that a server has
	due     bool     // the time for other calls is over
	waits   bool     // a call does
	parked  *Waiting // the last call, if it waits while the program is parked
	stopped bool
}

type pauseKey struct{}

// PauseFrom returns the pause of the run that a context is of, nil if it cannot be paused.
func PauseFrom(ctx context.Context) *Pause {
	p, _ := ctx.Value(pauseKey{}).(*Pause)
	return p
}

var errPaused = errors.New("the program is paused")

// Pausable returns a run whose program may be paused, of one that is not: for the first time,
// or again with a journal, of which each entry is used once.
func Pausable(journal *Journal, run func(context.Context, runners.Request) (*runners.Outcome, error)) func(context.Context, runners.Request) (*runners.Outcome, error) {
	return func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		p := &Pause{stop: func() { cancel(errPaused) }}
		if journal != nil {
			p.before = Journal{slices.Clone(journal.Answered), slices.Clone(journal.Waiting)}
		}
		out, err := run(context.WithValue(ctx, pauseKey{}, p), req)
		if err != nil {
			return nil, err
		}
		return p.outcome(out)
	}
}

// outcome returns the outcome of the run, which is another one if it was paused.
func (p *Pause) outcome(out *runners.Outcome) (*runners.Outcome, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case out.Status == runners.Paused && (p.parked == nil || out.Continued == nil || !out.Continued.Kept):
		return nil, errors.New("a program is parked in no call, or was not kept")
	case out.Status == runners.Paused:
		p.journal = Journal{Waiting: []Waiting{*p.parked}}
	case !p.stopped:
		return out, nil
	case out.Continued != nil: // it may have seen its call end before it was ended, and ended by that
		out.Continued.Kept = false
	}
	journal, err := json.Marshal(p.journal)
	out.Status, out.Journal, out.ExitCode = runners.Paused, journal, 0
	out.Error = Consent(&p.journal)
	return out, err
}

// Consent returns the error of an outcome that waits for decisions.
func Consent(j *Journal) *runners.Error {
	return &runners.Error{Type: "ConsentNeeded", Message: "the program waits for the user's consent to:\n" + strings.TrimSuffix(j.Text(), "\n"), Line: j.Waiting[0].Line}
}

// digest returns the digest of arguments, however their text is written.
func digest(arguments json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(arguments))
	if d.UseNumber(); d.Decode(&v) == nil {
		arguments, _ = json.Marshal(v) // what was read can be written
	}
	sum := sha256.Sum256(arguments)
	return hex.EncodeToString(sum[:])
}

// answered returns the answer that a call got when the program ran before. It is a mistake to
// call a tool with other arguments than then: what is sent twice is not what anybody has seen.
func (p *Pause) answered(tool string, arguments json.RawMessage) (r *runners.ToolResult, err error, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := digest(arguments)
	i := slices.IndexFunc(p.before.Answered, func(a Answered) bool { return a.Tool == tool && a.Digest == sum })
	if i >= 0 {
		a := p.before.Answered[i]
		p.before.Answered = slices.Delete(p.before.Answered, i, i+1)
		p.add(a)
		if a.Error != nil {
			return nil, a.Error, true
		}
		return a.Result, nil, true
	}
	if slices.ContainsFunc(p.before.Waiting, func(w Waiting) bool { return w.Tool == tool && digest(w.Arguments) == sum }) {
		return nil, nil, false
	}
	if slices.ContainsFunc(p.before.Answered, func(a Answered) bool { return a.Tool == tool }) {
		return nil, &runners.ToolError{Code: "unknown", Message: tool + " was called with other arguments before the program was paused, and it is not called twice: let no time and no random number be in the arguments"}, true
	}
	return nil, nil, false
}

// decision returns what the user has decided about a call, "" if nothing, and the arguments
// that it gets.
func (p *Pause) decision(tool string, arguments json.RawMessage) (string, json.RawMessage) {
	if p == nil {
		return "", arguments
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.before.Waiting {
		if w.Tool != tool || digest(w.Arguments) != digest(arguments) {
			continue
		}
		p.before.Waiting = slices.Delete(p.before.Waiting, i, i+1)
		if w.Instead != nil {
			arguments = w.Instead
		}
		return w.Decision, arguments
	}
	return "", arguments
}

// send is called before a call is sent, and what it returns with its answer. It does not
// return before the program has ended if that is to be paused.
func (p *Pause) send(ctx context.Context, tool string, arguments json.RawMessage) (answer func(*runners.ToolResult, error), err error) {
	p.mu.Lock()
	waits := p.waits
	if !waits {
		p.sending++
	}
	p.mu.Unlock()
	if waits {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	a := Answered{Tool: tool, Digest: digest(arguments)}
	return func(r *runners.ToolResult, err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		a.Result = r
		if err != nil && !errors.As(err, &a.Error) {
			a.Error = &runners.ToolError{Code: "unknown", Message: "the call was sent, and its answer was lost"}
		}
		p.add(a)
		p.sending--
		p.end()
	}, nil
}

// add adds an answer to the journal.
func (p *Pause) add(a Answered) {
	p.journal.Answered = append(p.journal.Answered, a)
	p.bytes += 200
	if a.Result != nil {
		p.bytes += a.Result.Size() * 4 / 3
	}
}

// wait has the program parked, or waits for its end: it is paused. Another error than these two
// is that it cannot be.
func (p *Pause) wait(ctx context.Context, call runners.ToolCall, tool string) error {
	p.mu.Lock()
	waits := Waiting{Tool: tool, Arguments: slices.Clone(call.Arguments), Line: call.Line}
	if p.parked = nil; call.Parks && !p.waits && p.sending == 0 {
		p.parked = &waits
		p.mu.Unlock()
		return &runners.ToolError{Code: runners.Parks, Message: "the program waits for a user's consent"}
	}
	if p.bytes += len(call.Arguments) + 200; p.bytes > maxJournal || len(p.journal.Waiting) >= maxWaiting {
		p.mu.Unlock()
		return fmt.Errorf("the program has called too much to be paused (%d bytes, at most %d)", p.bytes, maxJournal)
	}
	p.journal.Waiting = append(p.journal.Waiting, waits)
	if !p.waits {
		p.waits = true
		time.AfterFunc(others, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.due = true
			p.end()
		})
	}
	p.mu.Unlock()
	<-ctx.Done()
	return context.Cause(ctx)
}

// end ends the program if it is to be paused and no server has a call of it.
func (p *Pause) end() {
	if p.due && p.sending == 0 && !p.stopped {
		p.stopped = true
		p.stop()
	}
}
