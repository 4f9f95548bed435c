// Package tool has the command tool, which calls the tools of other servers.
//
// It sends queries to whoever has the tools, and prints JSON. An argument is read as the
// tool's schema has it: as text where only text is allowed, else as JSON, or as text if it
// is not valid JSON.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/commands/command"
)

// Name is the command's.
const Name = "tool"

// Box answers queries, as package runners/toolbox describes them.
type Box interface {
	Ask(ctx context.Context, query []byte) json.RawMessage
}

type boxKey struct{}

// With returns the command with tools.
func With(p kernel.Program, b Box) kernel.Program {
	return func(ctx context.Context, process *kernel.Process) int {
		return p(context.WithValue(ctx, boxKey{}, b), process)
	}
}

const usage = `tool SERVER TOOL [--NAME VALUE]...   call a tool and print its result as JSON
tool SERVER TOOL '{"NAME": VALUE}'   the same, with all arguments in JSON; - reads them from standard input
tool search WORD...                  list the tools that fit
tool describe [SERVER[.TOOL]]        print what is known of the servers, one or a tool
tool list [SERVER]                   list servers, or the tools of one
`

// Main is the command.
func Main(c *command.Call) int {
	words := c.Args
	switch {
	case len(words) == 0 || words[0] == "--help" || words[0] == "help":
		c.About("help")
		c.Print(usage)
	case words[0] == "search" && len(words) > 1:
		printTools(c, ask[[]listed](c, query{Op: "search", Name: strings.Join(words[1:], " ")}))
	case words[0] == "describe" && len(words) < 4:
		c.Printf("%s\n", strings.TrimRight(ask[string](c, query{Op: "describe", Name: strings.Join(words[1:], ".")}), "\n"))
	case words[0] == "list" && len(words) == 2:
		printTools(c, ask[[]listed](c, query{Op: "list", Name: words[1]}))
	case words[0] == "list":
		for _, server := range ask[[]string](c, query{Op: "servers"}) {
			c.Printf("%s\n", server)
		}
	default:
		return call(c, words)
	}
	return 0
}

// query and the types below are toolbox's.
type query struct {
	Op   string          `json:"op"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	Line int             `json:"line,omitempty"`
}

type listed struct {
	Server, Name, Description string
	Input                     json.RawMessage
}

type part struct {
	V    json.RawMessage
	Blob *struct {
		Data      []byte
		MIME, URI string
	}
	Link json.RawMessage
}

// answer is that of a query whose value is a T.
type answer[T any] struct {
	Error *struct{ Code, Message string }
	Parts []part
	Value T
}

// send sends a query. It ends the command with the error that is the answer.
func send[T any](c *command.Call, q query) (a answer[T]) {
	box, _ := c.Ctx.Value(boxKey{}).(Box)
	if box == nil {
		c.Exit(1, "this program has no tools: the server was started without --tools")
	}
	text, err := json.Marshal(q)
	c.Must(err)
	c.Out.Flush()
	text = box.Ask(c.Ctx, text)
	c.Must(c.Reserve(int64(len(text))))
	c.Must(json.Unmarshal(text, &a))
	if a.Error != nil {
		c.Exit(1, "%s: %s", a.Error.Code, a.Error.Message)
	}
	return a
}

func ask[T any](c *command.Call, q query) T { return send[T](c, q).Value }

func printTools(c *command.Call, list []listed) {
	for _, t := range list {
		line, _, _ := strings.Cut(t.Description, "\n")
		c.Printf("%s.%s\t%s\n", t.Server, t.Name, line)
	}
}

// call calls a tool, whose name is one word, SERVER.TOOL, or two.
func call(c *command.Call, words []string) int {
	server, name, whole := strings.Cut(words[0], ".")
	words = words[1:]
	if !whole && len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		name, words = words[0], words[1:]
	}
	if name == "" {
		return c.Die(2, "%s what? tool list %[1]s names the tools of a server, tool --help the forms of the command", server)
	}
	q := query{Op: "call", Name: server + "." + name, Line: c.Process.Line}
	if len(words) == 1 && (words[0] == "-" || strings.HasPrefix(words[0], "{")) {
		q.Args = json.RawMessage(words[0])
		if words[0] == "-" {
			text, err := io.ReadAll(io.LimitReader(c.In(), maxInput+1))
			c.Must(err)
			if len(text) > maxInput {
				c.Exit(1, "bad_arguments: standard input has more than %d MiB, and a call takes no more", maxInput>>20)
			}
			q.Args = bytes.TrimSpace(text)
		}
		if !json.Valid(q.Args) {
			return c.Die(2, "the arguments are not JSON: %.200s", q.Args)
		}
	} else if len(words) > 0 {
		q.Args = options(c, q.Name, server, words)
	}
	for _, p := range send[json.RawMessage](c, q).Parts {
		c.Print(string(show(c, p)) + "\n")
	}
	return 0
}

// maxInput bounds standard input, in bytes.
const maxInput = 4 << 20

// options returns arguments that are given as options, by the schema of the tool.
func options(c *command.Call, tool, server string, words []string) json.RawMessage {
	var schema struct{ Properties map[string]property }
	for _, t := range ask[[]listed](c, query{Op: "list", Name: server}) {
		if t.Server+"."+t.Name == tool {
			_ = json.Unmarshal(t.Input, &schema) // without one, what is JSON is taken for JSON
		}
	}
	args := map[string]json.RawMessage{}
	for len(words) > 0 {
		name, value, given := strings.Cut(words[0], "=")
		words = words[1:]
		if name = strings.TrimPrefix(name, "--"); name == "" || strings.HasPrefix(name, "-") {
			c.Exit(2, "arguments are --NAME VALUE, a JSON object, or - for standard input")
		}
		p, known := schema.Properties[name]
		if !known {
			if other, ok := schema.Properties[strings.ReplaceAll(name, "-", "_")]; ok {
				name, p = strings.ReplaceAll(name, "-", "_"), other
			}
		}
		switch {
		case given:
		case len(words) > 0 && !strings.HasPrefix(words[0], "--") && (p.Type != "boolean" || words[0] == "true" || words[0] == "false"):
			value, words = words[0], words[1:]
		default:
			value = "true"
		}
		args[name] = p.value(value)
	}
	text, err := json.Marshal(args)
	c.Must(err)
	return text
}

// property is what a schema says of an argument.
type property struct {
	Type         any // a name or a list of them
	AnyOf, OneOf []property
}

// value returns an argument: JSON, unless it may be text and nothing of its kind.
func (p property) value(text string) json.RawMessage {
	if kinds := p.kinds(); json.Valid([]byte(text)) && (!slices.Contains(kinds, "string") || slices.Contains(kinds, kind(text))) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // it never fails
	return quoted
}

// kinds returns the types that a value may have.
func (p property) kinds() (list []any) {
	if list, _ = p.Type.([]any); list == nil && p.Type != nil {
		list = []any{p.Type}
	}
	for _, other := range slices.Concat(p.AnyOf, p.OneOf) {
		list = append(list, other.kinds()...)
	}
	if slices.Contains(list, "integer") {
		list = append(list, "number")
	}
	return list
}

// kind returns the type of a value in JSON, but for text.
func kind(text string) any {
	var v any
	_ = json.Unmarshal([]byte(text), &v) // it is valid
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return ""
}

// show returns a part of a result as JSON. Bytes are written to a file, and its name is shown.
func show(c *command.Call, p part) json.RawMessage {
	switch {
	case p.Link != nil:
		return p.Link
	case p.Blob == nil:
		return p.V
	}
	_, ending, _ := strings.Cut(p.Blob.MIME, "/")
	ending, _, _ = strings.Cut(ending, "+")
	if ending == "" || len(ending) > 8 || strings.Trim(ending, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		ending = "bin"
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("/tmp/tool-%d.%s", n, ending)
		f, err := c.OpenFile(name, abi.O_WRONLY|abi.O_CREAT|abi.O_EXCL, 0o644)
		if errors.Is(err, abi.EEXIST) {
			continue
		}
		c.Must(err)
		_, err = f.Write(p.Blob.Data)
		c.Must(errors.Join(err, f.Close()))
		shown, _ := json.Marshal(map[string]any{"file": name, "mime": p.Blob.MIME, "bytes": len(p.Blob.Data)}) // it never fails
		return shown
	}
}
