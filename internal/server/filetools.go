package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/mark3labs/mcp-go/mcp"

	"coderunner/internal/answer"
	"coderunner/internal/images"
	"coderunner/internal/order"
	"coderunner/runners"
)

func (s *Server) fileTools() []extraTool {
	name := described("The session's name.")
	path := described("Path in the session's directory, such as data/in.csv.")
	return []extraTool{{
		name: "list_files", title: "List a session's files", readOnly: true, idempotent: true,
		description: "Lists the files in a session's directory, with their sizes.",
		required:    []string{"session"},
		properties:  object{"session": name, "path": described("A directory in it; all if it is absent.")},
		do:          s.doListFiles,
	}, {
		name: "read_file", title: "Read a session's file", readOnly: true, idempotent: true,
		description: "Reads a file of a session: text with `start_line` and `end_line` (from 1, both included) or with `offset` and `length` in bytes; images are shown.",
		required:    []string{"session", "path"},
		properties: object{"session": name, "path": path,
			"start_line": object{"type": "integer", "minimum": 1}, "end_line": object{"type": "integer", "minimum": 1},
			"offset": object{"type": "integer", "minimum": 0}, "length": object{"type": "integer", "minimum": 1}},
		do: s.doReadFile,
	}, {
		name: "write_file", title: "Write a session's file", idempotent: true,
		description: "Makes or replaces a file in a session's directory, where the session's programs find it. A new name makes a session.",
		required:    []string{"session", "path"},
		properties: object{"session": name, "path": path,
			"text": described("The content, if it is text."), "base64": described("The content, if it is binary."),
			"uri": described("The content: a resource of an earlier result, runner://…")},
		do: s.doWriteFile,
	}, {
		name: "edit_file", title: "Edit a session's file",
		description: "Replaces `old_text` in a file of a session by `new_text`. The file must have it exactly once, unless `replace_all` is set.",
		required:    []string{"session", "path", "old_text", "new_text"},
		properties: object{"session": name, "path": path,
			"old_text": described("The text as it is in the file, with its spaces and line ends."), "new_text": described("What replaces it."),
			"replace_all": object{"type": "boolean"}},
		do: s.doEditFile,
	}, {
		name: "delete_file", title: "Delete a session's file", idempotent: true,
		description: "Removes a file, or a directory with all that is in it, from a session's directory. The state before stays in the history (see sessions).",
		required:    []string{"session", "path"},
		properties:  object{"session": name, "path": path},
		do:          s.doDeleteFile,
	}}
}

// maxListText bounds the text of a list, in bytes.
const maxListText = 20_000

func (s *Server) doListFiles(ctx context.Context, a *arguments) (*mcp.CallToolResult, error) {
	name, dir := a.text("session"), strings.TrimSuffix(a.text("path"), "/")
	if a.err != nil {
		return nil, a.err
	}
	files, err := s.config.Sessions.Files(ctx, name)
	if err != nil {
		return nil, err
	}
	files = slices.Clone(files)
	order.By(files, func(x, y runners.SessionFile) int { return strings.Compare(x.Path, y.Path) })
	var lines []string
	for _, f := range files {
		if dir = strings.TrimPrefix(dir, "./"); dir != "" && dir != "." && !strings.HasPrefix(f.Path, dir+"/") {
			continue
		}
		line := fmt.Sprintf("%s (%s)", f.Path, humanize.Bytes(uint64(f.Size)))
		switch f.Mode.Type() {
		case fs.ModeDir:
			line = f.Path + "/"
		case fs.ModeSymlink:
			line = f.Path + " -> " + f.Target
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return textBlock("There are no files."), nil
	}
	return textBlock("%s", runners.Clip(strings.Join(lines, "\n"), maxListText)), nil
}

func (s *Server) doReadFile(ctx context.Context, a *arguments) (*mcp.CallToolResult, error) {
	name, path := a.text("session"), a.text("path")
	first, last, offset, length := a.integer("start_line"), a.integer("end_line"), a.integer("offset"), a.integer("length")
	if a.err != nil {
		return nil, a.err
	}
	data, err := s.config.Sessions.ReadFile(ctx, name, path)
	if err != nil {
		return nil, err
	}
	left := runners.DescribeFile(runners.CleanPath(path), data)
	uri := sessionURI(name, left.Path)
	if first > 0 || last > 0 {
		return linesBlock(data, first, last), nil
	}
	if m, err := images.Fit(data, answer.MaxImages); err == nil && offset+length == 0 && (runners.Display{MIME: left.MIME}).Image() {
		r := textBlock("%s (%s, %s, shown at %d×%d) %s", left.Path, left.MIME, humanize.Bytes(uint64(left.Size)), m.Width, m.Height, uri)
		r.Content = append(r.Content, mcp.NewImageContent(base64.StdEncoding.EncodeToString(m.Data), m.MIME))
		return r, nil
	}
	if offset > len(data) {
		return textBlock("The file ends at byte %d.", len(data)), nil
	}
	part := data[offset:]
	if length > 0 && length < len(part) {
		part = part[:length]
	}
	if !utf8.Valid(data) {
		link := mcp.NewResourceLink(uri, left.Path, "", left.MIME)
		link.Size = &left.Size
		const most = 3000
		shown := part[:min(len(part), most)]
		r := textBlock("%s is not text (%s, %s). Bytes %d to %d in base64: %s", left.Path, left.MIME, humanize.Bytes(uint64(left.Size)), offset, offset+len(shown), base64.StdEncoding.EncodeToString(shown))
		r.Content = append(r.Content, link)
		return r, nil
	}
	if len(part) > answer.MaxText {
		n := answer.MaxText
		for !utf8.RuneStart(part[n]) {
			n--
		}
		return textBlock("%s\n[bytes %d to %d of %d; go on with offset %d, or choose lines]", part[:n], offset, offset+n, len(data), offset+n), nil
	}
	return textBlock("%s", part), nil
}

// linesBlock returns lines of a text, with as many as fit.
func linesBlock(data []byte, first, last int) *mcp.CallToolResult {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	first = max(first, 1)
	if last == 0 || last > len(lines) {
		last = len(lines)
	}
	if first > last {
		return textBlock("The file has %d lines.", len(lines))
	}
	size, end := 0, first-1
	for end < last && (size == 0 || size+len(lines[end]) <= answer.MaxText) {
		size += len(lines[end])
		end++
	}
	text := runners.Clip(strings.ToValidUTF8(string(bytes.Join(lines[first-1:end], nil)), "\ufffd"), answer.MaxText)
	if end < last {
		text += fmt.Sprintf("\n[lines %d to %d of %d; go on with start_line %d]", first, end, len(lines), end+1)
	}
	return textBlock("%s", text)
}

func (s *Server) doWriteFile(ctx context.Context, a *arguments) (*mcp.CallToolResult, error) {
	name, path := a.text("session"), a.text("path")
	data := a.content("text", "base64", "uri")
	if a.err != nil {
		return nil, a.err
	}
	return textBlock("Wrote %s (%s).", runners.CleanPath(path), humanize.Bytes(uint64(len(data)))), s.config.Sessions.WriteFile(ctx, name, path, data)
}

func (s *Server) doEditFile(ctx context.Context, a *arguments) (*mcp.CallToolResult, error) {
	name, path, old, new, all := a.text("session"), a.text("path"), a.text("old_text"), a.text("new_text"), a.boolean("replace_all")
	if a.err != nil {
		return nil, a.err
	}
	n, err := s.config.Sessions.EditFile(ctx, name, path, old, new, all)
	return textBlock("Replaced %s in %s.", map[bool]string{true: "it", false: fmt.Sprintf("%d times", n)}[n == 1], runners.CleanPath(path)), err
}

func (s *Server) doDeleteFile(ctx context.Context, a *arguments) (*mcp.CallToolResult, error) {
	name, path := a.text("session"), a.text("path")
	if a.err != nil {
		return nil, a.err
	}
	n, err := s.config.Sessions.DeleteFile(ctx, name, path)
	return textBlock("Deleted %s (%d entries).", runners.CleanPath(path), n), err
}

// content returns the one that is given of a text, base64 and a resource.
func (a *arguments) content(text, encoded, uri string) []byte {
	given := 0
	for _, name := range []string{text, encoded, uri} {
		if a.get(name) != nil {
			given++
		}
	}
	if given != 1 {
		a.fail(text, `is to be given, or else %q or %q: one of them.`, encoded, uri)
		return nil
	}
	switch {
	case a.get(encoded) != nil:
		data, err := decoded(a.text(encoded))
		if err != nil {
			a.fail(encoded, "is not base64.")
		}
		return data
	case a.get(uri) != nil:
		data, known := a.data(a.text(uri))
		if !known {
			a.fail(uri, "is not a resource of this server, or no longer kept.")
		}
		return data
	}
	return []byte(a.text(text))
}
