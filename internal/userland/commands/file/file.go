package file

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// magics are the beginnings of files that file knows.
var magics = []struct{ magic, kind, mime string }{
	{"\x89PNG\r\n\x1a\n", "PNG image data", "image/png"}, {"\xff\xd8\xff", "JPEG image data", "image/jpeg"},
	{"GIF8", "GIF image data", "image/gif"}, {"%PDF-", "PDF document", "application/pdf"},
	{"PK\x03\x04", "Zip archive data", "application/zip"}, {"\x1f\x8b", "gzip compressed data", "application/gzip"},
	{"BZh", "bzip2 compressed data", "application/x-bzip2"}, {"\xfd7zXZ\x00", "XZ compressed data", "application/x-xz"},
	{"\x7fELF", "ELF", "application/x-executable"}, {"\x00asm", "WebAssembly (wasm) binary module", "application/wasm"},
	{"SQLite format 3\x00", "SQLite 3.x database", "application/vnd.sqlite3"}, {"RIFF", "RIFF (little-endian) data", "application/octet-stream"},
	{"\x7fbuilt-in ", "built-in program", "application/x-executable"},
	{"#!/bin/bash", "Bourne-Again shell script, ASCII text executable", "text/x-shellscript"},
	{"#!/usr/bin/env bash", "Bourne-Again shell script, ASCII text executable", "text/x-shellscript"},
	{"#!/bin/sh", "POSIX shell script, ASCII text executable", "text/x-shellscript"},
	{"#!/usr/bin/env python3", "Python script, ASCII text executable", "text/x-script.python"},
	{"#!/usr/bin/python3", "Python script, ASCII text executable", "text/x-script.python"},
}

// Type prints what files are.
func Type(c *command.Call) int {
	o := c.Parse("b,brief i,mime mime-type L,dereference h,no-dereference !k !z s E")
	if len(o.Args) == 0 {
		c.Warnf("Usage: file [-bchikLlNnprsSvzZ0] [file ...]\n")
		return 1
	}
	widest := 0
	for _, n := range o.Args {
		widest = max(widest, len(n))
	}
	for _, n := range o.Args {
		if !o.On("b") {
			c.Printf("%-*s", widest+2, n+":")
		}
		kind, mime := kindOfFile(c, n, o.On("L"))
		if o.On("i") || o.On("mime-type") {
			kind = mime
			if o.On("i") && !o.On("mime-type") {
				kind += "; charset=" + map[bool]string{true: "us-ascii", false: "binary"}[strings.HasPrefix(mime, "text/")]
			}
		}
		c.Print(kind + "\n")
	}
	return c.Status
}

func kindOfFile(c *command.Call, name string, follow bool) (kind, mime string) {
	st, err := c.StatOf(name, follow)
	if err != nil && name != "-" {
		return fmt.Sprintf("cannot open `%s' (%s)", name, command.Text(err)), "cannot open"
	}
	switch st.Mode & abi.S_IFMT {
	case abi.S_IFDIR:
		return "directory", "inode/directory"
	case abi.S_IFLNK:
		target, _ := c.Readlink(name)
		if _, err := c.Stat(name); err != nil {
			return "broken symbolic link to " + target, "inode/symlink"
		}
		return "symbolic link to " + target, "inode/symlink"
	case abi.S_IFIFO:
		return "fifo (named pipe)", "inode/fifo"
	case abi.S_IFCHR:
		return "character special", "inode/chardevice"
	}
	r, err := c.Open(name)
	if err != nil {
		return fmt.Sprintf("cannot open `%s' (%s)", name, command.Text(err)), "cannot open"
	}
	defer r.Close()
	data, _ := io.ReadAll(io.LimitReader(r, command.CopySize))
	if len(data) == 0 {
		return "empty", "inode/x-empty"
	}
	if at := len("\x89PNG\r\n\x1a\n"); len(data) >= 29 && bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")) && string(data[at+4:at+8]) == "IHDR" {
		return pngKind(data[at+8:]), "image/png"
	}
	for _, m := range magics {
		if bytes.HasPrefix(data, []byte(m.magic)) {
			return m.kind, m.mime
		}
	}
	if len(data) > 262 && string(data[257:262]) == "ustar" {
		return "POSIX tar archive (GNU)", "application/x-tar"
	}
	return textKind(data)
}

// pngKind is what a PNG's header says.
func pngKind(header []byte) string {
	color := map[byte]string{0: "grayscale", 2: "/color RGB", 3: " colormap", 4: " gray+alpha", 6: "/color RGBA"}[header[9]]
	if header[9] == 0 {
		color = " " + color
	}
	interlaced := "non-interlaced"
	if header[12] != 0 {
		interlaced = "interlaced"
	}
	return fmt.Sprintf("PNG image data, %d x %d, %d-bit%s, %s", binary.BigEndian.Uint32(header), binary.BigEndian.Uint32(header[4:]), header[8], color, interlaced)
}

// isCSV reports whether the first lines, as file looks at them, have the same number of
// commas.
func isCSV(data []byte) bool {
	want, lines := 0, 0
	for line := range bytes.Lines(data) {
		if line[len(line)-1] != '\n' && lines > 0 {
			break
		}
		commas, quoted := 0, false
		for _, b := range line {
			switch {
			case b == '"':
				quoted = !quoted
			case b == ',' && !quoted:
				commas++
			}
		}
		if lines == 0 {
			want = commas
		}
		if commas == 0 || commas != want {
			return false
		}
		if lines++; lines == 10 {
			break
		}
	}
	return lines > 2
}

func textKind(data []byte) (kind, mime string) {
	ascii := true
	for _, b := range data {
		if b >= 0x80 {
			ascii = false
		} else if b < ' ' && strings.IndexByte("\a\b\t\n\f\r\x1b", b) < 0 {
			return "data", "application/octet-stream"
		}
	}
	trimmed := bytes.TrimSpace(data)
	kind, mime = "ASCII text", "text/plain"
	switch {
	case !ascii && !bytes.Equal(bytes.ToValidUTF8(data, nil), data) && len(data) < command.CopySize:
		return "ISO-8859 text", "text/plain"
	case !ascii:
		kind = "Unicode text, UTF-8 text"
	}
	if len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[') {
		if json.Valid(trimmed) {
			return "JSON text data", "application/json"
		}
	}
	if isCSV(data) {
		return "CSV text", "text/csv"
	}
	if bytes.Contains(data, []byte("\r\n")) {
		kind += ", with CRLF line terminators"
	} else if bytes.IndexByte(data, '\n') < 0 {
		kind += ", with no line terminators"
	}
	return kind, mime
}
