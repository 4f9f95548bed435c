package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/runners"
)

// state is what a session is between two calls.
type state struct {
	Number    int                   `json:"number"` // from 1
	When      time.Time             `json:"when"`
	Action    string                `json:"action"` // what made it: "python: x = 1", "write_file a.txt", "rewind to 3"
	Status    runners.Status        `json:"status,omitempty"`
	Answer    string                `json:"answer,omitempty"` // that no client got
	Calls     int                   `json:"calls"`            // programs so far
	Files     []runners.SessionFile `json:"files,omitempty"`
	Languages map[string]language   `json:"languages,omitempty"` // by family
	Life      string                `json:"life,omitempty"`      // of the session in a remote store
	Paused    *paused               `json:"paused,omitempty"`    // its program, which waits
	Inline    []blob                `json:"inline,omitempty"`    // what runners saved and is behind the manifest

	inline map[string][]byte // the contents of these, by their digests
}

// language is what the last program of a language family left.
type language struct {
	ID               string             `json:"id"`
	Saved            map[string]blob    `json:"saved,omitempty"` // by the runner's name for it
	Unsaved          string             `json:"unsaved,omitempty"`
	Variables        []runners.Variable `json:"variables,omitempty"`
	VariablesOmitted int                `json:"variables_omitted,omitempty"`
}

// blob is a file in a session's blobs.
type blob struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Bounds of a manifest.
const (
	maxManifest  = 16 << 20 // bytes
	maxFiles     = 10_000
	maxLanguages = 8
	maxSaved     = 16
	maxAction    = 300   // bytes
	maxAnswer    = 8_000 // bytes, about
	maxState     = maxManifest + (maxLanguages+1)*runners.MaxSmall
)

// format returns the file of a state, in parts: the digest of the next line, this line of JSON,
// which is the manifest, and the contents of what is inline.
func (s *state) format() (parts [][]byte, err error) {
	s.Inline = nil
	var contents [][]byte
	saved := s.saved()
	for _, name := range slices.Sorted(maps.Keys(saved)) {
		b := saved[name]
		if data, ok := s.inline[name]; ok {
			s.Inline, contents = append(s.Inline, b), append(contents, data)
		}
	}
	body, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("format a state: %w", err)
	}
	if len(body) > maxManifest-sha256.Size*2-1 {
		return nil, refuse("The session has too many files: their names alone are %d bytes.", len(body))
	}
	manifest := slices.Concat([]byte(runners.SHA256(body)), []byte("\n"), body, []byte("\n"))
	return slices.Insert(contents, 0, manifest), nil
}

// saved returns what runners saved, by the names of blobs.
func (s *state) saved() map[string]blob {
	out := map[string]blob{}
	add := func(l language) {
		for name, b := range l.Saved {
			out[blobName(name, b.SHA256)] = b
		}
	}
	for _, l := range s.Languages {
		add(l)
	}
	if p := s.Paused; p != nil && p.Parked != nil {
		add(p.Parked.Language)
	}
	return out
}

// parseState reads a manifest. Nothing of it is believed that the checks here do
// not cover.
func parseState(b []byte) (*state, error) {
	digest, rest, _ := bytes.Cut(b, []byte("\n"))
	body, contents, _ := bytes.Cut(rest, []byte("\n"))
	if runners.SHA256(body) != string(digest) {
		return nil, errors.New("its digest is wrong")
	}
	s := new(state)
	if err := json.Unmarshal(body, s); err != nil {
		return nil, err
	}
	s.inline = map[string][]byte{}
	for _, b := range s.Inline {
		if b.Size < 0 || b.Size > int64(len(contents)) {
			return nil, errors.New("what is inline is cut off")
		}
		if runners.SHA256(contents[:b.Size]) != b.SHA256 {
			return nil, errors.New("what is inline has another digest")
		}
		s.inline[b.SHA256], contents = contents[:b.Size:b.Size], contents[b.Size:]
	}
	if len(contents) > 0 {
		return nil, errors.New("there is more than what is inline")
	}
	return s, s.check()
}

func (s *state) check() error {
	if s.Number < 1 || s.Calls < 0 || len(s.Languages) > maxLanguages || len(s.Action) > maxAction || len(s.Answer) > 2*maxAnswer {
		return errors.New("a value is out of range")
	}
	if err := checkFiles(s.Files); err != nil {
		return err
	}
	for _, l := range s.Languages {
		if err := l.check(); err != nil {
			return err
		}
	}
	if p := s.Paused; p != nil && p.Parked != nil {
		return errors.Join(checkFiles(p.Parked.Files), p.Parked.Language.check())
	}
	return nil
}

func checkFiles(files []runners.SessionFile) error {
	if len(files) > maxFiles {
		return errors.New("there are too many files")
	}
	known := map[string]fs.FileMode{".": fs.ModeDir}
	for _, f := range files {
		_, twice := known[f.Path]
		if !runners.ValidPath(f.Path) || twice || !known[path.Dir(f.Path)].IsDir() || path.Dir(f.Path) != "." && known[path.Dir(f.Path)] == 0 {
			return fmt.Errorf("path %q is out of place", f.Path)
		}
		known[f.Path] = f.Mode
		switch f.Mode &^ fs.ModePerm {
		case fs.ModeDir:
		case 0:
			if !validDigest(f.SHA256) || f.Size < 0 {
				return fmt.Errorf("%q has no contents", f.Path)
			}
		case fs.ModeSymlink:
			if !inside(f.Path, f.Target) {
				return fmt.Errorf("link %q leads out of the directory", f.Path)
			}
		default:
			return fmt.Errorf("%q has the mode %v", f.Path, f.Mode)
		}
	}
	return nil
}

func (l language) check() error {
	if len(l.Saved) > maxSaved || len(l.Variables) > runners.MaxVariables {
		return errors.New("a language has too much")
	}
	for name, b := range l.Saved {
		if !validDigest(b.SHA256) || b.Size < 0 || !fs.ValidPath(name) || strings.Contains(name, "/") || name == "." {
			return fmt.Errorf("saved file %q is out of place", name)
		}
	}
	return nil
}

func validDigest(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && strings.ToLower(s) == s
}

// inside reports whether a link leads to a place in the directory. Since its
// ".." come first, they leave real directories, and what follows only goes down
// or along links for which the same holds.
func inside(link, target string) bool {
	up := 0
	for strings.HasPrefix(target+"/", "../") {
		up++
		target = strings.TrimPrefix(target[2:], "/")
	}
	return up <= strings.Count(link, "/") && (target == "" && up > 0 || runners.ValidPath(target))
}

// file returns the entry of a path.
func (s *state) file(path string) (runners.SessionFile, bool) {
	i := slices.IndexFunc(s.Files, func(f runners.SessionFile) bool { return f.Path == path })
	if i < 0 {
		return runners.SessionFile{}, false
	}
	return s.Files[i], true
}

// blobs returns the names of the blobs that the state needs besides what is inline, and their
// sizes.
func (s *state) blobs() map[string]int64 {
	out := map[string]int64{}
	lists := [][]runners.SessionFile{s.Files}
	if p := s.Paused; p != nil && p.Parked != nil {
		lists = append(lists, p.Parked.Files)
	}
	for _, f := range slices.Concat(lists...) {
		if f.Mode.IsRegular() {
			out[f.SHA256] = f.Size
		}
	}
	for name, b := range s.saved() {
		if _, ok := s.inline[name]; !ok {
			out[name] = b.Size
		}
	}
	return out
}

// sharedPrefix begins the names of blobs that many sessions share: they do not
// count as a session's.
const sharedPrefix = "shared-"

// blobName returns the name of a blob that a runner saved under a name.
func blobName(saved, sha256 string) string {
	if saved == runners.SavedBase {
		return sharedPrefix + sha256
	}
	return sha256
}

func (x *session) blob(name string) string { return filepath.Join(x.path, blobsName, name) }

// clone returns a copy with its own lists, for a state that is to follow.
func (s *state) clone() *state {
	c := *s
	c.Status, c.Answer = "", "" // of the program that made s
	c.Files, c.Languages, c.inline = slices.Clone(s.Files), maps.Clone(s.Languages), maps.Clone(s.inline)
	if c.Languages == nil {
		c.Languages = map[string]language{}
	}
	return &c
}

// next returns a state that follows s, without the program that is paused there.
func (s *state) next(action string) *state {
	c := s.clone()
	c.Paused, c.Action = nil, action
	return c
}

// numbers returns the numbers of the states on disk, ascending.
func (x *session) numbers() ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(x.path, statesName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 && e.Type().IsRegular() && stateName(n) == e.Name() {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

func stateName(n int) string { return fmt.Sprintf("%08d", n) }

// owns returns why a state is not the one of a number of this session: a remote store may
// mix objects up.
func (x *session) owns(s *state, n int) error {
	switch {
	case s.Number != n:
		return fmt.Errorf("it is state %d", s.Number)
	case x.lease != nil && s.Life != "" && s.Life != x.lease.life:
		return errors.New("it is of another session")
	}
	return nil
}

// manifest reads a state, whose blobs may not be here.
func (x *session) manifest(n int) (*state, error) {
	f, err := openRegular(x.statePath(n))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil { // it is read at once
		b.Grow(int(min(info.Size(), maxState)) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(io.LimitReader(f, maxState+1)); err != nil {
		return nil, err
	}
	if b.Len() > maxState {
		return nil, errors.New("it is too long")
	}
	s, err := parseState(b.Bytes())
	if err != nil {
		return nil, err
	}
	return s, x.owns(s, n)
}

// state reads a state and checks that its blobs are there, or brings them from the remote
// store.
func (x *session) state(n int) (*state, error) {
	s, err := x.manifest(n)
	if err != nil {
		return nil, err
	}
	return s, x.present(s)
}

// present checks that a state's blobs are there, or brings them from the remote store.
func (x *session) present(s *state) error {
	if err := x.fetchMissing(s); err != nil {
		return err
	}
	for name, size := range s.blobs() {
		info, err := os.Lstat(x.blob(name))
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.Size() != size {
			return fmt.Errorf("blob %s has %d bytes instead of %d", name, info.Size(), size)
		}
	}
	lists := [][]runners.SessionFile{s.Files}
	if p := s.Paused; p != nil && p.Parked != nil {
		lists = append(lists, p.Parked.Files)
	}
	for _, files := range lists {
		for i := range files {
			if files[i].Mode.IsRegular() {
				files[i].Source = x.blob(files[i].SHA256)
			}
		}
	}
	return nil
}

// openRegular opens a file that is neither a link nor something to wait for.
func openRegular(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.Open(path)
}

// make makes the directories of a new session.
func (x *session) make() error {
	for _, dir := range []string{statesName, blobsName} {
		if err := os.MkdirAll(filepath.Join(x.path, dir), 0o700); err != nil {
			return err
		}
	}
	if x.lease == nil {
		return nil
	}
	return os.WriteFile(filepath.Join(x.path, lifeName), []byte(x.lease.life), 0o600)
}
