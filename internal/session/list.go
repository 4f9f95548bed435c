package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

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
	Answer string         `json:"answer,omitempty"` // that no client got
}

// List describes the sessions, in the order of their names. It waits for none
// that is in use: it shows the state before the call.
func (s *Store) List(ctx context.Context) ([]Info, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	found := make([]Info, len(names))
	var g errgroup.Group
	g.SetLimit(transfers)
	for i, name := range names {
		g.Go(func() error {
			if ctx.Err() == nil {
				found[i], _ = s.describe(ctx, name, 0) // State is 0
			}
			return ctx.Err()
		})
	}
	err = g.Wait()
	return slices.DeleteFunc(found, func(i Info) bool { return i.State == 0 }), err
}

// Describe describes a session with its history.
func (s *Store) Describe(name string) (Info, error) {
	if err := CheckName(name); err != nil {
		return Info{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	info, err := s.describe(ctx, name, s.limits.History)
	if err == nil && info.State == 0 {
		err = s.refuseName(name)
	}
	return info, err
}

// describe reads what is on disk, or in the remote store, without a lock: a state is
// never changed.
func (s *Store) describe(ctx context.Context, name string, history int) (Info, error) {
	if s.remote != nil {
		return s.describeRemote(ctx, name, history)
	}
	x := s.session(name)
	numbers, err := x.numbers()
	if err != nil {
		return Info{Name: name}, err
	}
	info, err := describe(name, numbers, history, x.state)
	info.Bytes = x.size()
	return info, err
}

// describe describes a session of which some states are there. A state may be damaged, or
// be thinned meanwhile.
func describe(name string, numbers []int, history int, read func(int) (*state, error)) (Info, error) {
	info := Info{Name: name}
	for _, n := range slices.Backward(numbers) {
		now, err := read(n)
		if errors.Is(err, errRemote) {
			return info, err
		}
		if err != nil {
			continue
		}
		if info.State == 0 {
			info.now(now)
			info.Oldest = numbers[0]
		}
		if len(info.History) >= history {
			break
		}
		info.History = append(info.History, Past{now.Number, now.When, now.Action, now.Status, now.Answer})
	}
	if info.State == 0 && len(numbers) > 0 {
		info.State, info.Problem = numbers[len(numbers)-1], damaged(name).Error()
	}
	return info, nil
}

// now takes over what is in force.
func (i *Info) now(now *state) {
	i.State, i.Calls, i.Used, i.Action = now.Number, now.Calls, now.When, now.Action
	i.Files = len(now.Files)
	for _, f := range now.Files {
		i.FileBytes += f.Size
	}
	for name, size := range now.blobs() {
		if !strings.HasPrefix(name, sharedPrefix) {
			i.Bytes += size
		}
	}
	for _, l := range slices.Sorted(maps.Keys(now.Languages)) {
		left := now.Languages[l]
		i.Languages = append(i.Languages, Language{Name: l, Variables: left.Variables, Omitted: left.VariablesOmitted, Unsaved: left.Unsaved})
	}
}

// listTime bounds the time in which the names of sessions are listed.
const listTime = 30 * time.Second

// names returns the names of the sessions.
func (s *Store) names() ([]string, error) {
	if s.remote == nil {
		return s.localNames()
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	names, err := s.remote.Names(ctx, s.namespace+"/")
	return slices.DeleteFunc(names, func(n string) bool { return !namePattern.MatchString(n) }), remoteError(err)
}

// localNames returns the names of the sessions on disk.
func (s *Store) localNames() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the sessions: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && namePattern.MatchString(e.Name()) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}
