package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"coderunner/runners"
)

func FuzzParseState(f *testing.F) {
	empty := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	s := &state{Number: 3, When: time.Unix(0, 0), Action: "python: 1", Files: []runners.SessionFile{{Path: "a", Mode: 0o644, SHA256: empty}},
		Languages: map[string]language{"python": {ID: "x", Saved: map[string]blob{"snapshot": {empty, 0}}}}}
	parts, err := s.format()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(slices.Concat(parts...)[65:])
	f.Add([]byte(`{"number":1,"files":[{"path":"../x","mode":420}]}`))
	f.Add([]byte(`{"number":1,"files":[{"path":"x","mode":134218239,"target":"../.."}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := parseState(append([]byte(runners.SHA256(body)+"\n"), body...))
		if err != nil {
			return
		}
		for _, file := range s.Files {
			if !runners.ValidPath(file.Path) || file.Target != "" && file.Mode.IsDir() == false && file.Mode&^0o777 != 0 && !inside(file.Path, file.Target) {
				t.Errorf("%+v was believed", file)
			}
		}
		again, err := s.format()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseState(slices.Concat(again...)); err != nil {
			t.Errorf("%v of what was written", err)
		}
	})
}

// TestRemembered has in memory what the state in force has inline, and nothing of those before.
func TestRemembered(t *testing.T) {
	s, err := Open(Options{Dir: t.TempDir(), Limits: Limits{History: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		_, err := s.Run(t.Context(), Call{Session: "a", Request: runners.Request{Language: runners.Python}}, func(_ context.Context, r runners.Request) (*runners.Outcome, error) {
			return &runners.Outcome{Status: runners.Succeeded, Continued: &runners.Continued{Kept: true}}, os.WriteFile(filepath.Join(r.Session.Save, "memory"), []byte{byte(n)}, 0o400)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	r := s.recent["a"]
	if r.state == nil || r.state.Number != 5 || len(r.state.inline) != 1 || len(r.needs) > 3 {
		t.Errorf("%+v is remembered", r)
	}
	for n := range maxRecent {
		if err := s.WriteFile(t.Context(), fmt.Sprint("b", n), "f", nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.recent) > maxRecent {
		t.Errorf("%d sessions are remembered", len(s.recent))
	}
}
