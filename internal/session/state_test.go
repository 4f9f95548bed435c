package session

import (
	"testing"
	"time"

	"coderunner/runners"
)

func FuzzParseState(f *testing.F) {
	empty := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	s := &state{Number: 3, When: time.Unix(0, 0), Action: "python: 1", Files: []runners.SessionFile{{Path: "a", Mode: 0o644, SHA256: empty}},
		Languages: map[string]language{"python": {ID: "x", Saved: map[string]blob{"snapshot": {empty, 0}}}}}
	b, err := s.format()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[65:])
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
		if _, err := parseState(again); err != nil {
			t.Errorf("%v of what was written", err)
		}
	})
}
