package clang

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"coderunner/internal/cbor"
	"coderunner/internal/machine/abi"
	"coderunner/internal/recent"
	"coderunner/runners"
)

// kept is what was built of a command line, with the state of each file that the tools have
// looked for: as long as that is what it was, the same comes of it again.
type kept struct {
	Said, Made []byte
	Files      map[string]string // states by path
	digest     string            // of Made
}

// memo has what this process has built, of programs that runs begin with: no other process
// can have changed a file between two steps. The cache has the same for later processes.
var memo = recent.Map[string, kept]{Weigh: func(k kept) int { return len(k.Made) + 100*len(k.Files) }}

// remembered builds what a command line says, unless it is known what comes of it. The key
// tells the line and the state of its source.
func (b *builder) remembered(ctx context.Context, key string, build func() (*built, error)) (*built, error) {
	if k, ok := memo.Get(key); ok && b.still(k) {
		return &built{said: k.Said, made: k.Made, digest: k.digest}, nil
	}
	var r *built
	var failure error
	k := kept{}
	attempt := func() {
		b.looked = map[string]bool{}
		if r, failure = build(); failure == nil && r.made != nil {
			k = kept{Said: r.said, Made: r.made, Files: b.seen()}
		}
	}
	file, err := b.Engine.Keep(ctx, "2 "+key, func(_ context.Context, w io.Writer) error {
		if attempt(); k.Files == nil {
			return errors.New("what comes of it may change")
		}
		return cbor.Write(w, &k)
	})
	if r == nil && failure == nil {
		var text []byte
		if err == nil {
			text, err = os.ReadFile(file)
		}
		if err == nil && cbor.Unmarshal(text, &k) == nil && b.still(k) {
			r = &built{said: k.Said, made: k.Made}
		} else {
			attempt()
		}
	}
	if r != nil {
		r.digest = runners.SHA256(r.made)
	}
	if k.Files != nil {
		k.digest = r.digest
		memo.Put(key, k)
	}
	return r, failure
}

// still reports whether all files are what they were.
func (b *builder) still(k kept) bool {
	for name, was := range k.Files {
		if b.state(name) != was {
			return false
		}
	}
	return true
}

const absent, directory = "absent", "directory"

// state returns what a file is: the digest of its contents, absent or directory; "" if that
// cannot be told.
func (b *builder) state(name string) string {
	n, errno := b.FS().Lookup(nil, name, true)
	switch {
	case errno != abi.OK:
		return absent
	case n.IsDir():
		return directory
	case n.Type() != abi.S_IFREG:
		return ""
	}
	data, err := b.FS().ReadFile(name)
	if err != nil || bytes.Contains(data, []byte("__DATE__")) || bytes.Contains(data, []byte("__TIME")) {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// seen returns the states of the files that the tools have looked for; nil if what comes of
// them may change without them.
func (b *builder) seen() map[string]string {
	states := map[string]string{}
	for name := range b.looked {
		if strings.HasPrefix(name, scratch) || strings.HasPrefix(name, root+"/") {
			continue
		}
		if states[name] = b.state(name); states[name] == "" {
			return nil
		}
	}
	return states
}
