package server

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/runners"
)

const (
	maxCompiled     = 14                     // packages that the description names
	maxCompiledText = 240                    // bytes
	waitForCompiled = 500 * time.Millisecond // of a tools/list
)

// lookup is a list of names that is being looked up for a description.
type lookup struct {
	found chan struct{}
	text  string // once found is closed
}

func startLookup(what string, look func(context.Context) []string) *lookup {
	l := &lookup{found: make(chan struct{})}
	go func() {
		defer close(l.found)
		l.text = firstNames(what, look(context.Background()))
	}()
	return l
}

// wait reports whether the names are found, at the latest when ctx ends.
func (l *lookup) wait(ctx context.Context) bool {
	select {
	case <-l.found:
		return true
	default:
	}
	select {
	case <-l.found:
		return true
	case <-ctx.Done():
		return false
	}
}

// describeCompiled returns what adds to run_code's description in tools/list which
// compiled packages are here, and which cannot be installed. They are looked up once, while the client shakes hands; a list that is asked for
// before goes without.
func describeCompiled(c Config) func(context.Context, []mcp.Tool) []mcp.Tool {
	var lookups []*lookup
	if c.Compiled != nil {
		lookups = append(lookups, startLookup("\nCompiled Python packages that are here: ", c.Compiled))
	}
	if c.Missing != nil {
		lookups = append(lookups, startLookup("\nNot available: ", c.Missing))
	}
	return func(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
		ctx, cancel := context.WithTimeout(ctx, waitForCompiled)
		defer cancel()
		run := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == toolName })
		if run < 0 {
			return tools
		}
		tools = slices.Clone(tools)
		for _, l := range lookups {
			if d := &tools[run].Description; l.wait(ctx) && len(*d)+len(l.text) <= maxDescription {
				*d += l.text
			}
		}
		return tools
	}
}

// firstNames lists as many names as the description has room for, after what they
// are; "" without any.
func firstNames(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > maxCompiled {
		names, more = names[:maxCompiled], ", …"
	}
	return what + runners.Clip(strings.Join(names, ", "), maxCompiledText) + more + "."
}
