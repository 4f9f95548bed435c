package session

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"coderunner/runners"
)

// Info describes a session.
type Info struct {
	Name      string     `json:"name"`
	State     int        `json:"state"`  // in force, by its number
	Oldest    int        `json:"oldest"` // that can be gone back to
	Calls     int        `json:"calls"`  // programs so far
	Used      time.Time  `json:"used"`
	Action    string     `json:"action"` // what made the state
	Bytes     int64      `json:"bytes"`  // on disk, with the history
	Files     int        `json:"files"`
	FileBytes int64      `json:"file_bytes"`
	Languages []Language `json:"languages,omitempty"`
	Problem   string     `json:"problem,omitempty"` // it cannot be used

	History []Past `json:"history,omitempty"` // of the newest states, the newest first; only for one session
}

// Language is what a language family has in a session.
type Language struct {
	Name      string             `json:"name"` // "python" or "javascript"
	Variables []runners.Variable `json:"variables,omitempty"`
	Omitted   int                `json:"omitted,omitempty"`
	Unsaved   string             `json:"unsaved,omitempty"` // why the variables do not survive a restart
}

// Past is a state of the history.
type Past struct {
	State  int            `json:"state"`
	When   time.Time      `json:"when"`
	Action string         `json:"action"`
	Status runners.Status `json:"status,omitempty"`
}

// List describes the sessions, in the order of their names. It waits for none
// that is in use: it shows the state before the call.
func (s *Store) List(ctx context.Context) ([]Info, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	out := make([]Info, 0, len(names))
	for _, name := range names {
		info, err := s.describe(name, 0)
		if err == nil && info.State > 0 {
			out = append(out, info)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return out, nil
}

// Describe describes a session with its history.
func (s *Store) Describe(name string) (Info, error) {
	if err := CheckName(name); err != nil {
		return Info{}, err
	}
	info, err := s.describe(name, s.limits.History)
	if err == nil && info.State == 0 {
		err = refuse("There is no session %q; the tool sessions lists them, and run_code makes one.", name)
	}
	return info, err
}

// describe reads what is on disk, without a lock: a state is never changed.
func (s *Store) describe(name string, history int) (Info, error) {
	x := s.session(name)
	info := Info{Name: name}
	numbers, err := x.numbers()
	if err != nil || len(numbers) == 0 {
		return info, err
	}
	if err := x.load(); err != nil {
		var damaged *Error
		if errors.As(err, &damaged) {
			info.State, info.Problem = numbers[len(numbers)-1], damaged.Message
			return info, nil
		}
		return info, err
	}
	now := x.now
	info.State, info.Oldest, info.Calls, info.Used, info.Action = now.Number, numbers[0], now.Calls, now.When, now.Action
	info.Bytes, info.Files = x.size(), len(now.Files)
	for _, f := range now.Files {
		info.FileBytes += f.Size
	}
	for _, l := range slices.Sorted(maps.Keys(now.Languages)) {
		left := now.Languages[l]
		info.Languages = append(info.Languages, Language{Name: l, Variables: left.Variables, Omitted: left.VariablesOmitted, Unsaved: left.Unsaved})
	}
	for _, n := range slices.Backward(numbers) {
		if len(info.History) >= history {
			break
		}
		if p, err := x.state(n); err == nil { // it may have been thinned meanwhile
			info.History = append(info.History, Past{p.Number, p.When, p.Action, p.Status})
		}
	}
	return info, nil
}
