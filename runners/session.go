package runners

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Session is the part of a request that makes its program continue a session:
// it finds the variables that the session's last program of its language family
// left, and the files of the last program of any language. A runner keeps one
// live interpreter or process for a session while it is warm, and writes to
// disk what another process needs to go on.
//
// Every program has two states, before and after it, with ids that are never
// used twice. What is live or saved is good only for the state that it was kept
// as: another process, a fork or a rewind may have moved the session on.
type Session struct {
	// Key names the session among all that a runner sees.
	Key string

	// Before is the id of the state to continue, "" if no program of this
	// language family has left one. After is the id of the state that the program
	// leaves.
	Before, After string

	// Parked reports that the state Before has a program that was parked, and this is it: it
	// goes on.
	Parked bool

	// Unnamed reports that nobody gave the program the name of its file, so directory
	// listings leave it out.
	Unnamed bool

	// Files are what the working directory has before the program, a directory
	// before its entries. Request.Files are written over them.
	Files []SessionFile

	// Saved returns the files that the runner wrote to Save when it left the state
	// Before: their paths by their names, none if it wrote none. They are
	// read-only, and were checked to be whole.
	Saved func() (map[string]string, error) `json:"-"`

	// Save is an empty directory for the state After. What the runner writes
	// there must be enough to continue in another process. It may be hard links to
	// what is in Saved; a file named SavedBase is what many sessions share, and does
	// not count as this one's.
	Save string `json:"-"`

	// SaveSmall is as a file of Save with at most MaxSmall bytes, without one. Nil: there
	// must be one. The data is its own from then on; if it does not keep it, Recycle takes it.
	SaveSmall func(name string, data []byte) error `json:"-"`

	// Keep has the state After have the files of these names that were saved when the
	// state Before was left, but for those that are in Save, and reports whether they are all
	// there and whole. Nil: they are not. Only the last call counts.
	Keep func(names []string) bool `json:"-"`

	// Whole are names that Keep reports true for, so that whoever is far from it need not wait.
	Whole []string

	// Link makes a file of Save another name of one that Saved has or that the cache has.
	// Nil: os.Link does.
	Link func(from, name string) error `json:"-"`

	// Rollback keeps the state Before in force unless the program succeeds:
	// otherwise nothing needs to be kept or saved.
	Rollback bool

	// Leave takes the files from the working directory once the program has ended,
	// however that was, in place of [LeftFiles]. own is the program's own file,
	// which is not taken while its contents are these.
	Leave func(dir fs.FS, own File) (Left, error) `json:"-"`
}

// SessionFile is a directory, a regular file or a symbolic link in the working
// directory of a session. A link's target is relative and leads to a place in
// the directory, whatever the other links are.
type SessionFile struct {
	Path   string      `json:"path"` // valid as [File.Path]
	Mode   fs.FileMode `json:"mode"` // type and permission bits
	Size   int64       `json:"size,omitempty"`
	SHA256 string      `json:"sha256,omitempty"` // of a regular file
	Target string      `json:"target,omitempty"` // of a link

	// Source is a file of the host with the contents of a regular file, or Contents returns
	// them.
	Source   string                 `json:"-"`
	Contents func() ([]byte, error) `json:"-"`
}

// LinkTo makes a file of Save another name of a file.
func (s *Session) LinkTo(from, name string) error {
	if s.Link != nil {
		return s.Link(from, name)
	}
	return os.Link(from, filepath.Join(s.Save, name))
}

// savedPlaceholders is the name of a file in [Session].Save: what stands for secrets in the
// session's variables, by their names.
const savedPlaceholders = "placeholders.json"

// Placeholders returns what [Session.KeepPlaceholders] kept with the state Before, nil if
// there is nothing.
func (s *Session) Placeholders() (kept map[string]string) {
	if s == nil || s.Before == "" {
		return nil
	}
	if saved, err := s.Saved(); err == nil {
		b, _ := os.ReadFile(saved[savedPlaceholders])
		_ = json.Unmarshal(b, &kept)
	}
	return kept
}

// KeepPlaceholders keeps placeholders with the state After.
func (s *Session) KeepPlaceholders(p map[string]string) error {
	b, err := json.Marshal(p)
	if err != nil || len(p) == 0 {
		return err
	}
	return os.WriteFile(filepath.Join(s.Save, savedPlaceholders), b, 0o400)
}

// SavedBase is the name of a file in [Session].Save that sessions share.
const SavedBase = "base"

// Read returns the contents of a regular file, which it checks.
func (f SessionFile) Read() ([]byte, error) {
	read := func() ([]byte, error) { return os.ReadFile(f.Source) }
	if f.Contents != nil {
		read = f.Contents
	}
	b, err := read()
	if err != nil {
		return nil, fmt.Errorf("read %s of the session: %w", f.Path, err)
	}
	if SHA256(b) != f.SHA256 {
		return nil, fmt.Errorf("read %s of the session: the copy on disk is damaged", f.Path)
	}
	return b, nil
}

// Left is what a program of a session left in the working directory.
type Left struct {
	All     []SessionFile // everything that is kept, a directory before its entries
	Changed []LeftFile    // for Outcome.Files
	Omitted int           // for Outcome.FilesOmitted
}

// Changes returns what makes a directory with the files have one with the files
// want: paths to remove, the entries of a directory before it, and then files to
// write, a directory before its entries. A path that changes its type is in both.
func Changes(have, want []SessionFile) (remove []string, write []SessionFile) {
	wanted := make(map[string]SessionFile, len(want))
	for _, f := range want {
		wanted[f.Path] = f
	}
	present := make(map[string]SessionFile, len(have))
	for _, f := range have {
		if w, ok := wanted[f.Path]; !ok || w.Mode.Type() != f.Mode.Type() || w.Target != f.Target {
			remove = append(remove, f.Path)
			continue
		}
		present[f.Path] = f
	}
	slices.SortFunc(remove, func(a, b string) int { return strings.Compare(b, a) })
	for _, f := range want {
		if h, ok := present[f.Path]; !ok || h.Mode != f.Mode || h.SHA256 != f.SHA256 {
			write = append(write, f)
		}
	}
	return remove, write
}

// Origin is where the variables came from that a program of a session found.
type Origin string

// The origins.
const (
	OriginFresh    Origin = "fresh"    // there were none
	OriginLive     Origin = "live"     // the interpreter or process was still there
	OriginRestored Origin = "restored" // from what was saved
	OriginReplayed Origin = "replayed" // the earlier programs were run again
	OriginLost     Origin = "lost"     // they were not saved, or cannot be restored
)

// Continued is what a runner reports of a session's program. It is claimed by
// the program's interpreter as far as names and types go, and bounded. The first
// four fields are set by the keeper of the session.
type Continued struct {
	Session    string `json:"name"`
	State      int    `json:"state"`                 // in force now, by its number
	RolledBack bool   `json:"rolled_back,omitempty"` // the program's changes are dropped
	Refused    string `json:"refused,omitempty"`     // by which limit

	Origin Origin `json:"origin"`
	Lost   string `json:"lost,omitempty"` // why, if Origin is OriginLost

	// Kept reports whether the state After is there, live or saved. If not, the
	// next program finds the variables of the state Before.
	Kept bool `json:"kept"`
	// Unsaved is why the state After is only live, "" if it is saved, too.
	Unsaved string `json:"unsaved,omitempty"`
	// ThreadsEnded is how many threads the program left running; they were ended.
	ThreadsEnded int `json:"threads_ended,omitempty"`
	// ProcessesEnded is how many processes it left running; they were ended, too.
	ProcessesEnded int `json:"processes_ended,omitempty"`

	// Gone reports that the program was ended with the process that held the session: nothing
	// of what it did is kept.
	Gone bool `json:"-"`

	// Exited reports that the program called sys.exit or raised SystemExit.
	Exited bool `json:"-"`

	Variables        []Variable `json:"variables,omitempty"` // global ones, sorted
	VariablesOmitted int        `json:"variables_omitted,omitempty"`
}

// Variable is a global variable, function, class or import.
type Variable struct {
	Name string `json:"name"`
	Type string `json:"type"` // "int", "DataFrame", "function"
}

// Bounds of what a runner reports of the variables.
const (
	MaxVariables    = 200
	MaxVariableText = 100 // bytes of a name, and of a type
)
