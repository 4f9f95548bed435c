package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coderunner/runners"
)

// Call is a program for a session.
type Call struct {
	Session string
	// Rollback keeps the state before the program unless the program succeeds.
	Rollback bool
	Request  runners.Request
	// Undelivered, if not nil, returns the answer that nobody gets, for the history; ""
	// if somebody does.
	Undelivered func(*runners.Outcome) string
}

// Run runs a program in a session, by run, once the session is free. What it
// changed is on disk when Run returns. The outcome's Continued is set, whatever
// the runner made of the session.
func (s *Store) Run(ctx context.Context, c Call, run func(context.Context, runners.Request) (*runners.Outcome, error)) (out *runners.Outcome, err error) {
	err = s.locked(ctx, c.Session, true, func(x *session) (err error) {
		defer func() {
			if x.now.Number == 0 {
				err = x.undone(err)
			}
		}()
		if x.lease != nil {
			ctx = x.lease.ctx // which ends if the session is lost
		}
		if err = x.busy(); err == nil {
			out, err = x.run(ctx, c, run)
		}
		return err
	})
	return out, err
}

// family returns the name of a language family, whose programs continue one
// another.
func family(l runners.Language) string {
	switch l {
	case runners.JavaScript, runners.TypeScript, runners.JSX, runners.TSX:
		return "javascript"
	}
	return string(l)
}

func (x *session) run(ctx context.Context, c Call, run func(context.Context, runners.Request) (*runners.Outcome, error)) (*runners.Outcome, error) {
	req, before := c.Request, x.now.parked(family(c.Request.Language))
	lang := before.Languages[family(req.Language)]
	after := rand.Text()[:16]
	save, err := x.saveDir()
	if err != nil {
		return nil, fmt.Errorf("run in the session %s: %w", x.name, err)
	}
	defer func() {
		if !x.taken {
			_, _ = x.saveDir()
		}
	}()
	if err := x.fits(req.Files); err != nil {
		return nil, err
	}
	taken := &collection{session: x, given: req.Files, before: before.Files}
	req.Session = &runners.Session{
		Key: x.path, Before: lang.ID, After: after, Files: slices.Clone(before.Files),
		Saved: func() (map[string]string, error) { return x.saved(lang) }, Save: save, SaveSmall: x.small.save,
		Keep:  func(names []string) bool { return x.keepSaved(lang, names) },
		Whole: x.whole(lang), Rollback: c.Rollback, Leave: taken.leave, Parked: before != x.now,
	}
	if req.Filename == "" {
		req.Session.Unnamed, req.Filename = true, fmt.Sprintf("call_%d%s", x.began()+1, ending(req.Language))
	}
	out, err := run(ctx, req)
	if err != nil {
		return nil, err
	}
	if out.Continued == nil {
		out.Continued = &runners.Continued{Variables: lang.Variables, VariablesOmitted: lang.VariablesOmitted}
	}
	answer := ""
	if c.Undelivered != nil {
		answer = runners.Clip(c.Undelivered(out), maxAnswer)
	}
	if out.Status == runners.Paused {
		return out, x.pause(c, req, out, taken)
	}
	return out, x.advance(req, out, taken, answer)
}

// advance commits the state that a program left, unless it is to be as before. The
// session's part of the outcome tells which.
func (x *session) advance(req runners.Request, out *runners.Outcome, taken *collection, answer string) error {
	before, k, lang := x.now, out.Continued, family(req.Language)
	last := before.parked(lang).Languages[lang]
	k.Session, k.State = x.name, before.Number
	if out.Status == runners.Cancelled || k.Gone || req.Session.Rollback && out.Status != runners.Succeeded {
		k.Kept, k.RolledBack = false, true
		return nil
	}
	next := before.next(action(req))
	next.Status, next.Calls, next.Answer = out.Status, before.Calls+1, answer
	if taken.done {
		next.Files = taken.files
	}
	if k.Kept {
		saved, err := x.takeSaved(req.Session.Save, last.Saved)
		if err != nil {
			return fmt.Errorf("save the session %s: %w", x.name, err)
		}
		next.Languages[lang] = language{
			ID: req.Session.After, Saved: saved, Unsaved: k.Unsaved, Variables: k.Variables, VariablesOmitted: k.VariablesOmitted,
		}
		if k.Unsaved == last.Unsaved {
			k.Unsaved = "" // the call before has said so
		}
	} else if !taken.done {
		return nil // it did not begin
	}
	err := taken.problem
	if err == nil {
		err = x.commit(next)
	}
	if limit := (*Error)(nil); errors.As(err, &limit) {
		k.Kept, k.RolledBack, k.Refused = false, true, limit.Message
		return nil
	}
	k.State = x.now.Number
	return err
}

// fits refuses files that cannot be written over those of the session.
func (x *session) fits(files []runners.File) error {
	for _, f := range files {
		if err := x.now.free(f.Path); err != nil {
			return err
		}
	}
	return nil
}

// action describes a program: its language and its first line of code.
func action(req runners.Request) string {
	for line := range strings.Lines(req.Code) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && !strings.HasPrefix(line, "//") {
			return string(req.Language) + ": " + line
		}
	}
	return string(req.Language)
}

// ending returns the ending of a program's file.
func ending(l runners.Language) string {
	switch l {
	case runners.Python:
		return ".py"
	case runners.Bash:
		return ".sh"
	case runners.JavaScript:
		return ".js"
	case runners.JSX:
		return ".jsx"
	case runners.TSX:
		return ".tsx"
	case runners.TypeScript:
		return ".ts"
	}
	return "." + string(l)
}
