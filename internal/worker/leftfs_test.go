package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"

	"coderunner/runners"
)

// TestTold: of a small directory the server asks nothing, and of a larger one, or a large file, it
// is not told.
func TestTold(t *testing.T) {
	dir := fstest.MapFS{
		"a.txt":    {Data: []byte("text"), Mode: 0o644},
		"empty":    {Mode: 0o600},
		"sub/b.py": {Data: []byte("print()"), Mode: 0o755},
	}
	crossed := func() (x told) {
		b, err := json.Marshal(toldOf(dir))
		if err == nil {
			err = json.Unmarshal(b, &x)
		}
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	walk := func(of fs.FS) (all []string) {
		err := fs.WalkDir(of, ".", func(name string, d fs.DirEntry, err error) error {
			var i fs.FileInfo
			if err == nil {
				i, err = fs.Stat(of, name)
			}
			var data []byte
			if err == nil && d.Type().IsRegular() {
				data, err = fs.ReadFile(of, name)
			}
			if err == nil && name != "." {
				all = append(all, fmt.Sprintf("%s %v %d %q", name, i.Mode(), i.Size(), data))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got, want := walk(leftFS{told: crossed()}), walk(dir); !reflect.DeepEqual(got, want) { // without a connection
		t.Errorf("the server sees %q\nof %q", got, want)
	}
	dir["large"] = &fstest.MapFile{Data: make([]byte, maxToldBytes+1)}
	if x := crossed(); x.Files["large"] != nil || len(x.Dirs["."]) != 4 {
		t.Errorf("of a large file it is told %d bytes, of %d entries", len(x.Files["large"]), len(x.Dirs["."]))
	}
	for n := range maxTold {
		dir[fmt.Sprint("many/", n)] = &fstest.MapFile{}
	}
	if x := crossed(); x.Dirs["many"] != nil {
		t.Errorf("it is told of %d entries", len(x.Dirs["many"]))
	}
}

// TestKeepsUntold: nobody is asked whether what is known to be whole is.
func TestKeepsUntold(t *testing.T) {
	s := &runners.Session{Whole: []string{"base", "packages.json"}}
	tell := connectSession(t.Context(), nil, s, nil)
	var e outcome
	if tell(&e); e.Keeps != nil || e.Empty {
		t.Errorf("it keeps %q, %v", e.Keeps, e.Empty)
	}
	kept := s.Keep([]string{"base"})
	if tell(&e); !kept || !reflect.DeepEqual(e.Keeps, []string{"base"}) {
		t.Errorf("it keeps %q", e.Keeps)
	}
}

// TestLeavesNothing: nobody is asked about a directory that has the program's own file only.
func TestLeavesNothing(t *testing.T) {
	own := runners.File{Path: "call_1.py", Data: []byte("x = 1")}
	asked := errors.New("asked")
	for _, c := range []struct {
		dir  fstest.MapFS
		want bool
	}{
		{fstest.MapFS{}, true},
		{fstest.MapFS{"call_1.py": {Data: own.Data}}, true},
		{fstest.MapFS{"call_1.py": {Data: own.Data}, "__pycache__/x.pyc": {}}, true},
		{fstest.MapFS{"call_1.py": {Data: []byte("x = 2")}}, false},
		{fstest.MapFS{"call_1.py": {Data: own.Data}, "f": {}}, false},
		{fstest.MapFS{"call_1.py/f": {}}, false},
		{fstest.MapFS{"d/e": {Mode: fs.ModeDir}}, false},
	} {
		s, e, empty := &runners.Session{}, outcome{}, false
		tell := connectSession(t.Context(), nil, s, func(fs.FS) { panic(asked) })
		func() {
			defer func() { empty = recover() == nil }()
			_, _ = s.Leave(c.dir, own)
		}()
		if tell(&e); empty != c.want || e.Empty != c.want {
			t.Errorf("%v: %v, %v, want %v", slices.Sorted(maps.Keys(c.dir)), empty, e.Empty, c.want)
		}
	}
}
