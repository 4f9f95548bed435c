// Package session keeps named sessions on disk: for each a directory of files that programs
// of all languages share, and what the interpreters of these languages need to continue.
//
// It knows neither MCP nor a language: internal/server and the command line call
// [Store.Run], which hands a [runners.Session] to whatever runs the program.
//
//	DIR/NAMESPACE/.locks/NAME          flock: one process at a time
//	DIR/NAMESPACE/NAME/states/00000007 manifest: a digest, JSON, and what runners saved if it is small
//	                   blobs/SHA256    contents of files, and what else runners saved
//	                   tmp-…, save     of a call in progress; files for states to come
//
// A session is a sequence of states, one for each call that changed it; the one
// with the highest number is in force. States share blobs, so a fork is links to
// the blobs of one state, a rewind a new state that equals an old one, and a
// call that is rolled back makes no state.
//
// # What survives
//
// A state is in force once its manifest has its name, and its blobs are there before that. A
// process that is killed earlier leaves the session as it was. A call is answered when the
// disk has all of it. Manifests and blobs are believed only if their digests are right.
//
// # Locking
//
// A session is used by one call at a time. Within the process calls wait in the
// order of arrival, then for the file lock. Two sessions are locked in the
// order of their names.
//
// # Several machines
//
// With a [Remote] store, a call takes the session's lease there, brings what it
// misses, and puts what it made there before it is answered (remote.go, localcopy.go).
//
// # Limits
//
// Extended attributes, owners, hard links, FIFOs, sockets and links that lead
// out of the directory are not kept.
package session

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"coderunner/internal/lazyregexp"
)

// Options configure a [Store]. Zero limits mean the defaults.
type Options struct {
	Dir       string // root of all sessions
	Namespace string // whose sessions; "" is "default"
	Limits
	// Remote, if not nil, is where the sessions are, for all machines that share it; Dir
	// then has copies.
	Remote  Remote
	Command bool        // errors name the commands of a terminal, not the tools
	Log     *zap.Logger // nil: nothing is logged
}

// Limits bound what sessions take.
type Limits struct {
	Sessions int           // how many there may be
	Bytes    int64         // of all of them on disk
	Size     int64         // bytes of one session, with its history
	History  int           // states of one session that can be gone back to
	TTL      time.Duration // an unused session is removed after it
}

// DefaultLimits are the limits unless somebody sets others.
var DefaultLimits = Limits{Sessions: 1000, Bytes: 20 << 30, Size: 1 << 30, History: 50, TTL: 7 * 24 * time.Hour}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits
	if l.Sessions > 0 {
		d.Sessions = l.Sessions
	}
	if l.Bytes > 0 {
		d.Bytes = l.Bytes
	}
	if l.Size > 0 {
		d.Size = l.Size
	}
	if l.History > 0 {
		d.History = l.History
	}
	if l.TTL > 0 {
		d.TTL = l.TTL
	}
	return d
}

// Error is a mistake of the caller, or a limit. It is one sentence that names
// the thing and the way out.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func refuse(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Store keeps the sessions of one namespace. It is safe for concurrent use, and
// so are several stores of one directory, in any number of processes.
type Store struct {
	dir    string // of the namespace
	limits Limits

	namespace string
	remote    Remote // nil: none

	command bool // see Options
	log     *zap.Logger

	mu       sync.Mutex
	queues   map[string]*queue
	verified map[string]fs.FileInfo // by digest: large blobs
	sizes    map[string]int64       // of sessions, in bytes, as far as known
	recent   map[string]recent      // by session: the last state that this store committed
	swept    time.Time
}

// queue is where the calls of one session wait.
type queue struct {
	turn *semaphore.Weighted
	used int // those that wait or have the turn
}

var namePattern = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`)

// CheckName returns an *Error unless name can be a session's.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return refuse(`"session" must be a name of at most 64 letters, digits, ".", "_" and "-" that does not begin with "." or "-".`)
	}
	return nil
}

// Open opens a store. Nothing is written before the first session is made.
func Open(o Options) (*Store, error) {
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if !namePattern.MatchString(o.Namespace) {
		return nil, fmt.Errorf("open sessions: bad namespace %q", o.Namespace)
	}
	dir, err := filepath.Abs(filepath.Join(o.Dir, o.Namespace))
	if err != nil {
		return nil, fmt.Errorf("open sessions: %w", err)
	}
	for _, name := range []string{filepath.Dir(dir), dir} {
		if info, err := os.Stat(name); err == nil && othersWrite(info, 0o002) {
			return nil, fmt.Errorf("open sessions: everybody can write to %s, and so bring sessions; hint: chmod o-w it, or set CODE_RUNNER_SESSION_DIR to a directory of your own", name)
		}
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return &Store{
		dir: dir, limits: o.Limits.withDefaults(), command: o.Command, log: o.Log, namespace: o.Namespace, remote: o.Remote,
		queues: map[string]*queue{}, verified: map[string]fs.FileInfo{}, sizes: map[string]int64{},
		recent: map[string]recent{},
	}, nil
}

// session is one that is locked. What needs the lock is a method, in the file of what
// it does: states, blobs, history, files.
type session struct {
	*Store
	name string
	path string // its directory
	now  *state // in force; number 0 if there is none
	was  recent // what the store knew of it, if that is not another's

	bytes int64 // of its own blobs, when a state was last to be committed

	small   small             // for the state to come
	inline  map[string][]byte // what the state to come is to have inline, by digests
	pending map[string]bool   // names of blobs that no state on disk needs yet
	syncing errgroup.Group    // until the disk has those
	taken   bool              // what a runner saved, so that its directory is empty
	kept    []string          // what the state to come has of what a runner saved before

	lease     *lease // nil without a remote store
	committed bool   // now is the newest state for all
}

// Names of what is in the directory of a namespace and of a session.
const (
	locksName  = ".locks"
	statesName = "states"
	blobsName  = "blobs"
	saveName   = "save"
	tempPrefix = "tmp-"
)

func (s *Store) session(name string) *session {
	return &session{Store: s, name: name, path: filepath.Join(s.dir, name), now: &state{}, pending: map[string]bool{}, small: small{}, inline: map[string][]byte{}}
}
