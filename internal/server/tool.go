package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/internal/answer"
	"coderunner/runners"
)

// toolName is the one tool there is.
const toolName = "run_code"

// newTool describes run_code as this configuration has it.
func newTool(c Config) (mcp.Tool, error) {
	in, err := json.Marshal(inputSchema(c))
	if err != nil {
		return mcp.Tool{}, fmt.Errorf("marshal input schema: %w", err)
	}
	out, err := json.Marshal(answer.Schema())
	if err != nil {
		return mcp.Tool{}, fmt.Errorf("marshal output schema: %w", err)
	}
	return mcp.Tool{
		Name:            toolName,
		Title:           "Run code",
		Description:     description(c),
		RawInputSchema:  in,
		RawOutputSchema: out,
		Annotations:     annotations(c),
	}, nil
}

// annotations describe what a program can do outside its sandbox. What it
// imports is asked for at registries and, in JavaScript, at the hosts of URLs.
func annotations(c Config) mcp.ToolAnnotation {
	p := c.Policy
	open := !c.Offline || p.Net.Any() || p.Run.Any() || p.FFI.Any() || c.Tools != nil
	changes := p.Net.Any() || p.Write.Any() || p.Run.Any() || p.FFI.Any() || c.Tools != nil
	return mcp.ToolAnnotation{
		Title:           "Run code",
		ReadOnlyHint:    mcp.ToBoolPtr(!changes),
		DestructiveHint: mcp.ToBoolPtr(changes),
		IdempotentHint:  mcp.ToBoolPtr(false),
		OpenWorldHint:   mcp.ToBoolPtr(open),
	}
}

// maxDescription is where clients cut a description, in bytes.
const maxDescription = 2048

// description is what a model needs to know to write a program that works here.
func description(c Config) string {
	var b strings.Builder
	b.WriteString("Runs one program in a sandbox and returns its stdout, stderr and the value of its last expression (as in a notebook: no print needed). Use it to compute, check, parse, convert or plot instead of guessing; not for GUIs, lasting servers or, unless permitted, the user's own files. ")
	if c.Sessions == nil {
		b.WriteString("Nothing is kept between calls.\n")
	} else {
		b.WriteString("Nothing is kept between calls, unless they name the same `session`: then variables and files are.\n")
	}
	for _, l := range names(c.Runners) {
		switch runners.Language(l) {
		case runners.Python:
			b.WriteString("python: CPython 3.14 (WebAssembly of 32 bits: NumPy's default integer is int32): the standard library with threads, processes (subprocess, multiprocessing, the bash below) and servers on a loopback of its own; top-level await; PyPI packages, compiled ones where they have a wheel for it (an error says what to use instead).\n")
		case runners.TypeScript:
			b.WriteString("typescript, javascript: Deno, ES modules, top-level await, no type-checking; npm:, jsr: and node: imports.\n")
		case runners.Bash:
			b.WriteString("bash: bash 5.2 and the usual commands (grep, sed, awk, find, jq, tar, curl, …, python3, pip) on files of its own.\n")
		}
	}
	guests := slices.DeleteFunc(offered(c.Runners, runners.GuestLanguages), func(l string) bool { return slices.Contains(c.Hosted, runners.Language(l)) })
	if len(guests) > 0 {
		b.WriteString(strings.Join(guests, ", ") + ": in WebAssembly, on files of their own, without packages or processes; wasm is a WASI module in base64.\n")
	}
	if list := offered(c.Runners, c.Hosted); len(list) > 0 {
		b.WriteString(strings.Join(list, ", ") + ": this machine's interpreters, with the libraries that it has; no result but what is printed, no network, no other processes.\n")
	}
	if c.Offline {
		b.WriteString("Packages: offline, only those already in the cache.\n")
	} else {
		b.WriteString("Packages: whatever the program imports is installed first, outside the time limit; use `packages` to pin versions (\"pydantic>=2\", \"npm:zod@3\").\n")
	}
	beforeTools := b.Len()
	b.WriteString("Permissions: " + permissions(c.Policy) + ".\n")
	if p := c.Policy; p.Net.Any() || p.Write.Any() {
		b.WriteString("Of these Python has the network, the environment and host files, written only where they may be read, too.\n")
	}
	if c.Isolation != "" {
		fmt.Fprintf(&b, "Isolation: Python in WebAssembly; Deno by its permissions and by the system (%s).\n", c.Isolation)
	}
	b.WriteString("Files: the working directory is private and holds the program and `files`. What the program writes there comes back: images are shown, short text is in the result, all is kept as resources (runner://…) for the next runs' `files`. Plots appear at plt.show(), other things by display(x).\n")
	if !c.Offline {
		b.WriteString("Data stays on this machine, but package registries see what is imported.\n")
	}
	l := c.Limits.WithDefaults()
	fmt.Fprintf(&b, "Limits: %s (change with `timeout_seconds`), %d MiB of memory, %d bytes of each output stream.",
		answer.Seconds(l.Timeout), l.Memory>>20, l.Output)
	text := b.String()
	if c.Tools == nil {
		return text
	}
	return text[:beforeTools] + toolsText(c.Tools.Names(), min(maxToolsText, maxDescription-len(text))) + text[beforeTools:]
}

// maxToolsText is how much the description grows by the tools of other servers, in bytes.
const maxToolsText = 400

// toolsText tells of the servers whose tools programs may call, a line for each, within a
// number of bytes: where there is no room for the servers, it leads to them.
func toolsText(names []string, room int) string {
	const (
		long  = "Tools of other servers: tools.search(\"words\"), tools.describe(\"server.tool\"); Python: tools.server.tool(arg=…), TypeScript: import {server} from \"tools\", bash: tool server tool --arg …. Servers:\n"
		short = "Tools of other servers: tools.search(\"words\"), tools.describe(\"\").\n"
	)
	text := long
	for i, name := range names {
		more := fmt.Sprintf("and %d more: tools.describe(\"\")\n", len(names)-i)
		if last := i == len(names)-1; last && len(text)+len(name)+1 <= room || len(text)+len(name)+1+len(more) <= room {
			text += name + "\n"
			continue
		}
		switch {
		case i > 0:
			return text + more
		case len(short) <= room:
			return short
		}
		return ""
	}
	return text
}

// permissions lists what programs may touch.
func permissions(p runners.Policy) string {
	var out []string
	for _, row := range []struct {
		name        string
		allow, deny runners.Grant
	}{
		{"network", p.Net, p.DenyNet},
		{"read host files", p.Read, p.DenyRead},
		{"write host files", p.Write, p.DenyWrite},
		{"environment", p.Env, p.DenyEnv},
		{"start processes", p.Run, p.DenyRun},
		{"native libraries", p.FFI, p.DenyFFI},
		{"system information", p.Sys, p.DenySys},
		{"import from URLs", p.Import, p.DenyImport},
	} {
		if !row.allow.Any() {
			continue
		}
		text := row.name + " (" + grantText(row.allow)
		if row.deny.Any() {
			text += ", except " + grantText(row.deny)
		}
		out = append(out, text+")")
	}
	if len(out) == 0 {
		return "none (no network; no files, environment or processes of the host)"
	}
	return strings.Join(out, "; ") + "; nothing else"
}

// grantText keeps a long list short: the whole description has a limit.
func grantText(g runners.Grant) string {
	if g.All {
		return "all"
	}
	const room = 30
	text := strings.Join(g.List, " ")
	if len(text) <= room {
		return text
	}
	n, used := 0, 0
	for n < len(g.List) && used+len(g.List[n]) < room-14 {
		used += len(g.List[n]) + 1
		n++
	}
	if n == 0 {
		return fmt.Sprintf("%d entries", len(g.List))
	}
	return fmt.Sprintf("%s and %d more", strings.Join(g.List[:n], " "), len(g.List)-n)
}

type object = map[string]any

func stringArray(description string) object {
	return object{"type": "array", "items": object{"type": "string"}, "description": description}
}

func inputSchema(c Config) object {
	schema := object{
		"type":                 "object",
		"additionalProperties": false,
		"required":             []string{"code"},
		"properties": object{
			"language": object{"type": "string", "enum": names(c.Runners), "description": "The program's language. Needed where the code does not show it, as 1+1 does not."},
			"code":     object{"type": "string", "description": "The program's source text."},
			"packages": stringArray("Requirements besides the program's imports, for example to pin a version: \"pydantic>=2\" (Python), \"npm:zod@3\" or \"jsr:@std/csv\" (JavaScript, TypeScript)."),
			"timeout_seconds": object{
				"type": "number", "exclusiveMinimum": 0, "maximum": c.Limits.WithDefaults().MaxTimeout.Seconds(),
				"default":     c.Limits.WithDefaults().Timeout.Seconds(),
				"description": "How long the program may run. Installing packages does not count.",
			},
			"stdin": object{"type": "string", "description": "What the program reads from standard input."},
			"args":  stringArray("Command line arguments: sys.argv[1:], Deno.args."),
			"files": object{
				"type":        "array",
				"description": "Files to write to the working directory before the run.",
				"items": object{
					"type": "object", "additionalProperties": false, "required": []string{"path"},
					"properties": object{
						"path":   object{"type": "string", "description": "Path in the working directory, such as data/in.csv."},
						"text":   object{"type": "string", "description": "The content, if it is text."},
						"base64": object{"type": "string", "description": "The content, if it is binary."},
						"uri":    object{"type": "string", "description": "The content: a resource of an earlier result, runner://…"},
					},
				},
			},
		},
	}
	if c.Sessions != nil {
		properties := schema["properties"].(object)
		properties["session"] = object{"type": "string", "description": "A session to go on in, by a name of your choice: the variables of the same language and the files of earlier calls with it are there."}
		properties["on_error"] = object{"type": "string", "enum": []string{"keep", "rollback"}, "description": "With session: what a program that fails leaves; keep (default), or rollback to before the call."}
	}
	return schema
}
