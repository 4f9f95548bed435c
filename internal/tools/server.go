package tools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/renameio/v2/maybe"
	"go.uber.org/zap"

	"coderunner/internal/order"
	"coderunner/internal/tools/catalog"
	"coderunner/internal/tools/connect"
	"coderunner/internal/tools/gate"
	"coderunner/runners"
)

// server is one client's connection to a server, and what programs see of it.
type server struct {
	set    *Set
	gate   *gate.Gate // of the client
	name   string
	conn   *connect.Server
	places chan struct{} // has one for each call
	shapes catalog.Shapes
	file   string // of shapes

	mu   sync.Mutex // guards what follows
	from []connect.Tool
	all  []*tool // of from
}

// tool is a tool that is not hidden, or one that the policy denies.
type tool struct {
	runners.Tool
	native   connect.Tool
	decision gate.Decision
	by       string
	checker  func() *catalog.Checker
}

// tools returns the server's tools, by name.
func (s *server) tools(ctx context.Context) ([]*tool, error) {
	from, err := s.conn.Tools(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(from) == len(s.from) && (len(from) == 0 || &from[0] == &s.from[0]) {
		return s.all, nil
	}
	s.from, s.all = from, nil
	sorted := slices.Clone(from)
	order.Stably(sorted, func(a, b connect.Tool) int { return strings.Compare(a.Name, b.Name) })
	sorted = slices.CompactFunc(sorted, func(a, b connect.Tool) bool { return a.Name == b.Name })
	for i, name := range catalog.Unique(sorted, func(t connect.Tool) string { return catalog.Safe(t.Name) }) {
		each := sorted[i]
		if each.AppOnly {
			continue
		}
		t := &tool{native: each, Tool: runners.Tool{
			Server: s.name, Name: name, Native: each.Name, Description: cmp.Or(each.Description, each.Title), Input: each.Input, Output: each.Output,
		}}
		if t.Input == nil {
			t.Input = []byte(`{"type": "object"}`)
		}
		t.decision, t.by = s.gate.Decide([]string{s.name + "." + name, s.conn.Name + "." + each.Name, s.name + "." + each.Name, s.conn.Name + "." + name}, each.ReadOnly)
		t.Policy = string(t.decision)
		t.checker = sync.OnceValue(func() *catalog.Checker { return catalog.NewChecker(t.Tool) })
		s.all = append(s.all, t)
	}
	return s.all, nil
}

// key names the tool among those of all servers.
func (t *tool) key() string { return t.Server + "." + t.Name }

// learned returns a copy with the shape of the results that were seen, where the server
// describes none.
func (s *server) learned(t *tool) *tool {
	copied := *t
	if copied.Output == nil {
		copied.Output = s.shapes.Schema(t.Name)
		copied.Learned = copied.Output != nil
	}
	return &copied
}

// maxShapes bounds a file of shapes, in bytes.
const maxShapes = 4 << 20

// shapesFile is where the shapes of a client's results are kept, which only the user may read;
// "": they are not.
func (s *Set) shapesFile(client, server string) string {
	if s.shapes == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(client + "\x00" + server))
	return filepath.Join(s.shapes, hex.EncodeToString(sum[:12])+".json")
}

// recall reads the shapes that other processes have learned.
func (s *server) recall() {
	if info, err := os.Stat(s.file); err == nil && info.Size() <= maxShapes {
		text, _ := os.ReadFile(s.file) // without it, nothing was learned
		s.shapes.Load(text)
	}
}

// learn remembers the shape of a result, in the file, too.
func (s *server) learn(tool string, r *runners.ToolResult) {
	text := s.shapes.Learn(tool, r)
	if text == nil || s.file == "" || len(text) > maxShapes {
		return
	}
	err := os.MkdirAll(s.set.shapes, 0o700)
	if err == nil {
		err = maybe.WriteFile(s.file, text, 0o600)
	}
	if err != nil {
		s.set.log.Debug("the shapes of results are not kept", zap.Error(err))
	}
}

// list returns the tools that may be called.
func (s *server) list(ctx context.Context) (list []runners.Tool, err error) {
	all, err := s.tools(ctx)
	for _, t := range all {
		if t.decision != gate.Deny {
			list = append(list, s.learned(t).Tool)
		}
	}
	return list, err
}

// find returns a tool, by either of its names.
func (s *server) find(ctx context.Context, name string) (*tool, error) {
	all, err := s.tools(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(t *tool) bool { return t.Name == name })
	if i < 0 {
		i = slices.IndexFunc(all, func(t *tool) bool { return t.Native == name })
	}
	if i >= 0 {
		return s.learned(all[i]), nil
	}
	list, _ := s.list(ctx) // as all were
	text := fmt.Sprintf("%s has no tool %q", s.name, runners.Clip(name, 100))
	if similar := catalog.Search(list, name); len(similar) > 0 {
		text += "; did you mean " + similar[0].Name + "?"
	}
	return nil, &runners.ToolError{Code: "not_found", Message: text}
}

// Summary returns the beginning of a tool's description, on one line.
func Summary(t runners.Tool) string {
	return runners.ClipLine(strings.Join(strings.Fields(t.Description), " "), 100)
}

// describe returns the tools, each with a line.
func (s *server) describe(ctx context.Context) (string, error) {
	list, err := s.list(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %d tools:\n", s.name, len(list))
	for _, t := range list {
		b.WriteString("  " + t.Name)
		if t.Native != t.Name {
			fmt.Fprintf(&b, " (the server calls it %q)", t.Native)
		}
		fmt.Fprintf(&b, ": %s\n", Summary(t))
	}
	return b.String(), nil
}
