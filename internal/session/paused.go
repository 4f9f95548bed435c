package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"coderunner/internal/project"
	"coderunner/runners"
)

// paused is a program that waits for a decision. The session is as before it; no other
// program runs there until it has gone on, from its beginning or from where it was parked.
type paused struct {
	Language runners.Language `json:"language"`
	Code     string           `json:"code"`
	Filename string           `json:"filename,omitempty"`
	Packages []string         `json:"packages,omitempty"`
	Args     []string         `json:"args,omitempty"`
	Files    []runners.File   `json:"files,omitempty"`
	Stdin    []byte           `json:"stdin,omitempty"`
	Timeout  time.Duration    `json:"timeout,omitempty"`
	Rollback bool             `json:"rollback,omitempty"`
	Journal  json.RawMessage  `json:"journal"` // of whoever runs it
	Began    int              `json:"began"`   // the number of the state before it
	Locked   bool             `json:"locked,omitempty"`
	Project  *project.Saved   `json:"project,omitempty"` // of a program of the command line
	Parked   *parked          `json:"parked,omitempty"`

	// Resumed is set before the program goes on: what it has called since, nobody knows if
	// it does not end.
	Resumed bool `json:"resumed,omitempty"`
}

// parked is a program that was parked: its interpreter, and the files as it left them.
type parked struct {
	Files    []runners.SessionFile `json:"files,omitempty"`
	Language language              `json:"language"`
}

// parked returns what s is for its program that goes on: the state as which that was parked, or
// s itself.
func (s *state) parked(family string) *state {
	if s.Paused == nil || s.Paused.Parked == nil {
		return s
	}
	c := s.clone()
	c.Files, c.Languages[family] = s.Paused.Parked.Files, s.Paused.Parked.Language
	return c
}

// maxPaused bounds a paused program in a manifest, in bytes.
const maxPaused = maxManifest / 2

// Keep has a request that can be kept: its input is read. It is a strings.Reader then, which a
// worker takes, too.
func Keep(req *runners.Request) error {
	if _, ok := req.Stdin.(*strings.Reader); ok || req.Stdin == nil {
		return nil
	}
	b, err := io.ReadAll(req.Stdin)
	req.Stdin = strings.NewReader(string(b))
	return err
}

// pause commits a program that waits, and was parked if its interpreter is kept.
func (x *session) pause(c Call, req runners.Request, out *runners.Outcome, taken *collection) error {
	p := &paused{
		Language: req.Language, Code: req.Code, Filename: c.Request.Filename, Packages: req.Packages, Args: req.Args, Files: req.Files,
		Timeout: req.Limits.Timeout, Rollback: c.Rollback, Journal: out.Journal, Began: x.began(), Locked: req.Locked,
	}
	if req.Project != nil {
		p.Project = req.Project.Save()
	}
	if out.Continued.Kept {
		if taken.problem != nil {
			return taken.problem
		}
		lang := family(req.Language)
		saved, err := x.takeSaved(req.Session.Save, x.now.parked(lang).Languages[lang].Saved)
		if err != nil {
			return fmt.Errorf("save the session %s: %w", x.name, err)
		}
		p.Files, p.Parked = nil, &parked{Files: taken.files, Language: language{ID: req.Session.After, Saved: saved}}
	} else if x.now.Paused != nil {
		p.Files, p.Parked = x.now.Paused.Files, x.now.Paused.Parked // it goes on there again
	}
	if in, ok := req.Stdin.(*strings.Reader); ok {
		p.Stdin = make([]byte, in.Size())
		if _, err := in.ReadAt(p.Stdin, 0); err != nil && err != io.EOF {
			return err
		}
	}
	if b, err := json.Marshal(p); err != nil || len(b) > maxPaused {
		return refuse("The program waits for consent, and cannot be kept until then: with its files and calls it has more than %d MiB.", maxPaused>>20)
	}
	next := x.now.clone()
	next.Action, next.Status, next.Paused = action(req), runners.Paused, p
	if err := x.commit(next); err != nil {
		return err
	}
	out.Continued.Session, out.Continued.State = x.name, x.now.Number
	return nil
}

// began returns the number of the state before the program that is to run.
func (x *session) began() int {
	if x.now.Paused != nil {
		return x.now.Paused.Began
	}
	return x.now.Number
}

// paused returns the program as it was asked for. The caller closes its Project.
func (x *session) paused() (req runners.Request, err error) {
	p := x.now.Paused
	req = runners.Request{Language: p.Language, Code: p.Code, Filename: p.Filename, Packages: p.Packages, Args: p.Args, Files: p.Files, Locked: p.Locked}
	req.Limits.Timeout = p.Timeout
	if p.Stdin != nil {
		req.Stdin = strings.NewReader(string(p.Stdin))
	}
	switch {
	case p.Project == nil:
	case !x.command:
		err = refuse("A command has begun the program, and it sees the directory %s: only \"coderunner sessions approve %s\" (or reject) has it go on.", p.Project.Path, x.name)
	default:
		if req.Project, err = p.Project.Open(); err != nil {
			err = refuse("The program sees a directory that cannot be opened: %v.", err)
		}
	}
	return req, err
}

// Resume has the program of a session that waits go on. Decide gets its journal and returns
// what that is then, and whether the program can go on with it; if not, the outcome is nil.
// One that went on before and was lost then is given up: what it called is not called again.
func (s *Store) Resume(ctx context.Context, name string, decide func(journal json.RawMessage) (json.RawMessage, bool, error), run func(context.Context, runners.Request) (*runners.Outcome, error)) (out *runners.Outcome, err error) {
	err = s.locked(ctx, name, false, func(x *session) error {
		p := x.now.Paused
		if p == nil {
			return refuse("No program of the session %q waits for consent.", name)
		}
		if p.Resumed {
			out = &runners.Outcome{Status: runners.Failed, ExitCode: 1, Packages: []runners.Package{}, Continued: &runners.Continued{}, Error: &runners.Error{
				Type: "Unknown", Message: "the program went on with consent, and the server ended meanwhile: whether its last calls were made is not known, so they are not made again. The session is as before the program",
			}}
			err := x.commit(x.now.next("gave up: " + x.now.Action))
			out.Continued.Session, out.Continued.State = name, x.now.Number
			return err
		}
		req, err := x.paused()
		if err != nil {
			return err
		}
		if req.Project != nil {
			defer req.Project.Close()
		}
		again, next := *p, x.now.clone()
		journal, ready, err := decide(p.Journal)
		if err != nil {
			return refuse("%s", err)
		}
		again.Journal, again.Resumed, next.Paused, next.Status = journal, ready, &again, runners.Paused
		if err := x.commit(next); err != nil || !ready {
			return err
		}
		if x.lease != nil {
			ctx = x.lease.ctx
		}
		out, err = x.run(ctx, Call{Session: name, Rollback: p.Rollback, Request: req}, run)
		if err == nil && x.now.Paused != nil && x.now.Paused.Resumed && out.Status != runners.Cancelled {
			err = x.commit(x.now.next("gave up: " + x.now.Action)) // it was rolled back
		}
		return err
	})
	return out, err
}

// busy refuses what a paused program does not allow.
func (x *session) busy() error {
	if x.now.Paused == nil {
		return nil
	}
	way := `approve or reject what it waits for with the tool sessions, or go back to an earlier state ("rewind")`
	if x.command {
		way = fmt.Sprintf(`decide with "coderunner sessions approve %s" or reject, or go back with "coderunner sessions rewind"`, x.name)
	}
	return refuse("A program of the session %q waits for consent: %s.", x.name, way)
}
