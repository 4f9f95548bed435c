package commands

import (
	"bytes"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"coderunner/pyodide/abi"
)

func du(c *call) int {
	o, status := c.options("a,all b,bytes c,total d,max-depth= h,human-readable k m s,summarize S,separate-dirs x,one-file-system L,dereference apparent-size si exclude= 0,null !B,block-size= !D,H l,count-links !t,threshold= !time")
	if o == nil {
		return status
	}
	names := o.args
	if len(names) == 0 {
		names = []string{"."}
	}
	d := &duRun{c: c, o: o, deepest: maxDepth, seen: map[[2]uint64]bool{}}
	if n, ok := atoi(o.value("d", "")); ok {
		d.deepest = n
	}
	if o.on("s") {
		d.deepest = 0
	}
	total := int64(0)
	for _, n := range names {
		total += d.walk(n, 0)
	}
	if o.on("c") {
		d.print(total, "total")
	}
	return c.status
}

type duRun struct {
	c       *call
	o       *options
	deepest int
	seen    map[[2]uint64]bool
}

func (d *duRun) print(n int64, name string) {
	o := d.o
	s := strconv.FormatInt((n+1023)/1024, 10)
	switch {
	case o.on("h"):
		s = human(n, 1024)
	case o.on("si"):
		s = human(n, 1000)
	case o.on("b"):
		s = strconv.FormatInt(n, 10)
	case o.on("m"):
		s = strconv.FormatInt((n+1<<20-1)>>20, 10)
	}
	d.c.printf("%s\t%s%c", s, name, lineEnd(o.on("0")))
}

func (d *duRun) walk(name string, depth int) int64 {
	c := d.c
	st, err := c.statOf(name, d.o.on("L"))
	if err != nil {
		c.fail("cannot access %s: %s", quote(name), text(err))
		return 0
	}
	if slices.ContainsFunc(d.o.values("exclude"), func(p string) bool { return globBase(p, name) }) || depth > maxDepth || c.stopped() {
		return 0
	}
	id := [2]uint64{uint64(st.Dev), st.Ino}
	if st.Nlink > 1 && !st.IsDir() && !d.o.on("l") {
		if d.seen[id] {
			return 0
		}
		d.seen[id] = true
	}
	n := allocated(&st)
	if d.o.on("b") || d.o.on("apparent-size") {
		n = st.Size
	}
	if st.IsDir() {
		list, err := c.readDir(name)
		if err != nil {
			c.fail("cannot read directory %s: %s", quote(name), text(err))
		}
		for _, e := range list {
			below := d.walk(join(name, e.name), depth+1)
			if !(d.o.on("S") && e.IsDir()) {
				n += below
			}
		}
	}
	if depth <= d.deepest && (st.IsDir() || d.o.on("a") || depth == 0) {
		d.print(n, name)
	}
	return n
}

func df(c *call) int {
	o, status := c.options("a,all h,human-readable H,si i,inodes k l,local m P,portability !T,print-type !t,type= !x,exclude-type= !B,block-size= total !output=?")
	if o == nil {
		return status
	}
	for _, name := range o.args {
		if _, err := c.stat(name); err != nil {
			c.fail("%s: %s", quotef(name), text(err))
		}
	}
	if c.status != 0 && len(o.args) == 1 {
		return c.status
	}
	s := c.fs.Statfs()
	size, free := int64(s.Blocks)*int64(s.Bsize), int64(s.Bavail)*int64(s.Bsize)
	head, unit := "1K-blocks", func(n int64) string { return strconv.FormatInt(n/1024, 10) }
	switch {
	case o.on("h"):
		head, unit = "Size", func(n int64) string { return human(n, 1024) }
	case o.on("H"):
		head, unit = "Size", func(n int64) string { return human(n, 1000) }
	}
	avail := "Available"
	if o.on("h") || o.on("H") {
		avail = "Avail"
	}
	if o.on("i") {
		head, avail = "Inodes", "IFree"
		size, free = int64(s.Files), int64(s.Ffree)
		unit = func(n int64) string { return strconv.FormatInt(n, 10) }
	}
	percent := "-"
	if size > 0 {
		percent = fmt.Sprintf("%d%%", ((size-free)*100+size-1)/size)
	}
	c.printf("Filesystem %12s %10s %10s Use%% Mounted on\n", head, "Used", avail)
	c.printf("%-10s %12s %10s %10s %4s %s\n", "memory", unit(size), unit(size-free), unit(free), percent, "/")
	return c.status
}

// tree lists directories as a tree.
func tree(c *call) int {
	o, status := c.options("a d f F i L= P= I= s h p noreport dirsfirst !r !t C n !o= !J !ignore-case")
	if o == nil {
		return status
	}
	t := &treeRun{c: c, o: o, deepest: maxDepth}
	if l := o.value("L", ""); l != "" {
		n, ok := atoi(l)
		if !ok || n < 1 {
			return c.die(1, "Invalid level, must be greater than 0.")
		}
		t.deepest = n
	}
	names := o.args
	if len(names) == 0 {
		names = []string{"."}
	}
	for _, n := range names {
		if st, err := c.stat(n); err != nil || !st.IsDir() {
			c.printf("%s  [error opening dir]\n", n)
			c.status = 2
			continue
		}
		c.print(n + "\n")
		t.dirs++
		t.walk(n, "", 1)
	}
	if !o.on("noreport") {
		plural := func(n int, one, many string) string {
			if n == 1 {
				return fmt.Sprintf("%d %s", n, one)
			}
			return fmt.Sprintf("%d %s", n, many)
		}
		c.print("\n" + plural(t.dirs, "directory", "directories"))
		if !o.on("d") {
			c.print(", " + plural(t.files, "file", "files"))
		}
		c.print("\n")
	}
	return c.status
}

type treeRun struct {
	c           *call
	o           *options
	deepest     int
	dirs, files int
}

func (t *treeRun) walk(name, prefix string, depth int) {
	list, err := t.c.readDir(name)
	if err != nil || t.c.stopped() {
		return
	}
	o := t.o
	list = slices.DeleteFunc(list, func(e entry) bool {
		hidden := e.name[0] == '.' && !o.on("a")
		return hidden || o.on("d") && !e.IsDir() || o.on("I") && anyGlob(o.value("I", ""), e.name) ||
			o.on("P") && !e.IsDir() && !anyGlob(o.value("P", ""), e.name)
	})
	if o.on("dirsfirst") {
		slices.SortStableFunc(list, func(a, b entry) int { return btoi(b.IsDir()) - btoi(a.IsDir()) })
	}
	for i, e := range list {
		branch, below := "├── ", "│\u00a0\u00a0 "
		if i == len(list)-1 {
			branch, below = "└── ", "    "
		}
		full, shown := join(name, e.name), e.name
		if o.on("f") {
			shown = full
		}
		if o.on("p") {
			shown = "[" + modeString(e.Mode) + "]  " + shown
		}
		if o.on("s") {
			shown = fmt.Sprintf("[%11d]  %s", e.Size, shown)
		}
		if e.Mode&abi.S_IFMT == abi.S_IFLNK {
			if n, err := t.c.lookup(full, false); err == abi.OK {
				target, _ := t.c.fs.Readlink(n)
				shown += " -> " + target
			}
		}
		if o.on("F") && e.IsDir() {
			shown += "/"
		}
		if o.on("i") {
			branch, below = "", ""
			t.c.print(shown + "\n")
		} else {
			t.c.print(prefix + branch + shown + "\n")
		}
		if e.IsDir() {
			t.dirs++
			if depth < t.deepest {
				t.walk(full, prefix+below, depth+1)
			}
		} else {
			t.files++
		}
	}
}

// anyGlob matches alternatives separated by "|".
func anyGlob(globs, name string) bool {
	return slices.ContainsFunc(strings.Split(globs, "|"), func(g string) bool { return fnmatch(g, name) })
}

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

func fileType(c *call) int {
	o, status := c.options("b,brief i,mime mime-type L,dereference h,no-dereference !k !z s E")
	if o == nil {
		return status
	}
	if len(o.args) == 0 {
		c.warnf("Usage: file [-bchikLlNnprsSvzZ0] [file ...]\n")
		return 1
	}
	widest := 0
	for _, n := range o.args {
		widest = max(widest, len(n))
	}
	for _, n := range o.args {
		if !o.on("b") {
			c.printf("%-*s", widest+2, n+":")
		}
		kind, mime := c.kindOfFile(n, o.on("L"))
		if o.on("i") || o.on("mime-type") {
			kind = mime
			if o.on("i") && !o.on("mime-type") {
				kind += "; charset=" + map[bool]string{true: "us-ascii", false: "binary"}[strings.HasPrefix(mime, "text/")]
			}
		}
		c.print(kind + "\n")
	}
	return c.status
}

func (c *call) kindOfFile(name string, follow bool) (kind, mime string) {
	st, err := c.statOf(name, follow)
	if err != nil && name != "-" {
		return fmt.Sprintf("cannot open `%s' (%s)", name, text(err)), "cannot open"
	}
	switch st.Mode & abi.S_IFMT {
	case abi.S_IFDIR:
		return "directory", "inode/directory"
	case abi.S_IFLNK:
		n, _ := c.lookup(name, false)
		target, _ := c.fs.Readlink(n)
		if _, err := c.stat(name); err != nil {
			return "broken symbolic link to " + target, "inode/symlink"
		}
		return "symbolic link to " + target, "inode/symlink"
	case abi.S_IFIFO:
		return "fifo (named pipe)", "inode/fifo"
	case abi.S_IFCHR:
		return "character special", "inode/chardevice"
	}
	r, err := c.open(name)
	if err != nil {
		return fmt.Sprintf("cannot open `%s' (%s)", name, text(err)), "cannot open"
	}
	defer r.Close()
	data, _ := io.ReadAll(io.LimitReader(r, copySize))
	if len(data) == 0 {
		return "empty", "inode/x-empty"
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
	case !ascii && !bytes.Equal(bytes.ToValidUTF8(data, nil), data) && len(data) < copySize:
		return "ISO-8859 text", "text/plain"
	case !ascii:
		kind = "Unicode text, UTF-8 text"
	}
	if len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[') {
		if _, err := decodeJSON(trimmed); err == nil {
			return "JSON text data", "application/json"
		}
	}
	if bytes.Contains(data, []byte("\r\n")) {
		kind += ", with CRLF line terminators"
	} else if bytes.IndexByte(data, '\n') < 0 {
		kind += ", with no line terminators"
	}
	return kind, mime
}

// factor prints the prime factors of numbers.
func factor(c *call) int {
	o, status := c.options("h,exponents")
	if o == nil {
		return status
	}
	words := o.args
	if len(words) == 0 {
		data, err := c.readAll(c.in())
		c.failed("-", err)
		words = strings.Fields(string(data))
	}
	for _, w := range words {
		n, err := strconv.ParseUint(strings.TrimPrefix(w, "+"), 10, 64)
		if err != nil {
			c.fail("%s is not a valid positive integer", quote(w))
			continue
		}
		c.printf("%d:", n)
		for p := uint64(2); n > 1; {
			if n%p == 0 {
				c.printf(" %d", p)
				n /= p
				continue
			}
			if p&0xffff == 1 && c.stopped() {
				return 1
			}
			if p > 1000 && new(big.Int).SetUint64(n).ProbablyPrime(20) || p > n/p {
				c.printf(" %d", n)
				break
			}
			p += 1 + p&1
		}
		c.print("\n")
	}
	return c.status
}

// dos2unix and unix2dos change line ends in place.
func dos2unix(c *call) int {
	o, status := c.options("q,quiet f,force !k,keepdate n,newfile o,oldfile")
	if o == nil {
		return status
	}
	convert := func(data []byte) []byte {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		if c.name == "unix2dos" {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		}
		return data
	}
	if len(o.args) == 0 {
		data, err := c.readAll(c.in())
		c.failed("-", err)
		c.out.Write(convert(data))
		return c.status
	}
	names := o.args
	if o.on("n") && len(names) == 2 {
		names = names[:1]
	}
	for _, n := range names {
		data, err := c.readFile(n)
		to := n
		if o.on("n") && len(o.args) == 2 {
			to = o.args[1]
		}
		if err == nil {
			var f *file
			if f, err = c.create(to); err == nil {
				_, err = f.Write(convert(data))
				f.Close()
			}
		}
		if err != nil {
			c.failed(n, err)
			continue
		}
		if !o.on("q") {
			format := map[string]string{"dos2unix": "Unix", "unix2dos": "DOS"}[c.name]
			c.warnf("%s: converting file %s to %s format...\n", c.name, n, format)
		}
	}
	return c.status
}

// splitFile is split: it writes pieces of a file.
func splitFile(c *call) int {
	o, status := c.options("# a,suffix-length= b,bytes= C,line-bytes= d,numeric-suffixes=? x,hex-suffixes=? l,lines= n,number= additional-suffix= !e,elide-empty-files verbose !t,separator= !filter=")
	if o == nil {
		return status
	}
	input, prefix := "-", "x"
	if len(o.args) > 0 {
		input = o.args[0]
	}
	if len(o.args) > 1 {
		prefix = o.args[1]
	}
	length, ok := atoi(o.value("a", "2"))
	if !ok || length < 1 || length > 20 {
		return c.die(1, "invalid suffix length: %s", quote(o.value("a", "")))
	}
	digits, start := "abcdefghijklmnopqrstuvwxyz", 0
	for _, name := range []string{"d", "x"} {
		if o.on(name) {
			digits = map[string]string{"d": "0123456789", "x": "0123456789abcdef"}[name]
			start, _ = atoi(o.value(name, "0"))
		}
	}
	next := start
	var out *file
	open := func() bool {
		if out != nil {
			out.Close()
		}
		suffix, n := "", next
		for range length {
			suffix = digits[n%len(digits):n%len(digits)+1] + suffix
			n /= len(digits)
		}
		if n > 0 {
			c.fail("output file suffixes exhausted")
			return false
		}
		next++
		name := prefix + suffix + o.value("additional-suffix", "")
		if o.on("verbose") {
			c.printf("creating file %s\n", quote(name))
		}
		var err error
		if out, err = c.create(name); err != nil {
			c.failed(name, err)
			return false
		}
		return true
	}
	defer func() {
		if out != nil {
			out.Close()
		}
	}()
	r, err := c.open(input)
	if err != nil {
		return c.die(1, "cannot open %s for reading: %s", quote(input), text(err))
	}
	defer r.Close()
	write := func(b []byte) bool {
		if _, err := out.Write(b); err != nil {
			c.fail("%s", text(err))
			return false
		}
		return true
	}
	if spec := o.value("b", o.value("n", "")); spec != "" {
		n, ok := size(spec)
		chunks := 0
		if o.on("n") {
			if chunks, ok = atoi(spec); !ok {
				return c.die(1, "only a plain number of chunks is available in this sandbox, not %s", quote(spec))
			}
			st, err := c.stat(input)
			if err != nil {
				return c.die(1, "%s: cannot determine file size", input)
			}
			n = max(1, st.Size/int64(max(1, chunks)))
		}
		if !ok || n < 1 {
			return c.die(1, "invalid number of bytes: %s", quote(spec))
		}
		for i := 1; ; i++ {
			probe := make([]byte, 1)
			if m, _ := r.Read(probe); m == 0 {
				return c.status
			}
			if !open() || !write(probe) {
				return 1
			}
			most := n - 1
			if i == chunks {
				most = 1 << 62
			}
			if _, err := io.CopyN(out, r, most); err != nil {
				if err != io.EOF {
					c.fail("%s", text(err))
				}
				return c.status
			}
		}
	}
	most, ok := size(o.value("l", o.value("#", "1000")))
	if !ok || most < 1 {
		return c.die(1, "invalid number of lines: %s", quote(o.value("l", "")))
	}
	limit := int64(0)
	if s := o.value("C", ""); s != "" {
		if limit, ok = size(s); !ok {
			return c.die(1, "invalid number of bytes: %s", quote(s))
		}
	}
	l := c.lines(r, '\n')
	count, bytesOut := most, int64(0)
	for line, ok := l.next(); ok; line, ok = l.next() {
		if limit == 0 && count >= most || limit > 0 && (out == nil || bytesOut+int64(len(line))+1 > limit) {
			if !open() {
				return 1
			}
			count, bytesOut = 0, 0
		}
		count++
		bytesOut += int64(len(line)) + 1
		if l.whole {
			line = append(slices.Clip(line), '\n')
		}
		if !write(line) {
			return 1
		}
	}
	return c.status
}

// tsort sorts topologically.
func tsort(c *call) int {
	o, status := c.options("")
	if o == nil {
		return status
	}
	data, err := c.readAll(c.concat(o.args))
	c.failed("-", err)
	words := strings.Fields(string(data))
	if len(words)%2 != 0 {
		return c.die(1, "-: input contains an odd number of tokens")
	}
	after, waits := map[string][]string{}, map[string]int{}
	var order []string
	for i := 0; i < len(words); i += 2 {
		for _, w := range words[i : i+2] {
			if _, ok := waits[w]; !ok {
				waits[w] = 0
				order = append(order, w)
			}
		}
		if a, b := words[i], words[i+1]; a != b {
			after[a] = append(after[a], b)
			waits[b]++
		}
	}
	slices.Sort(order)
	var ready []string
	for _, w := range order {
		if waits[w] == 0 {
			ready = append(ready, w)
		}
	}
	printed := 0
	for ; len(ready) > 0; ready = ready[1:] {
		c.print(ready[0] + "\n")
		printed++
		for _, b := range after[ready[0]] {
			if waits[b]--; waits[b] == 0 {
				ready = append(ready, b)
			}
		}
	}
	if printed < len(order) {
		c.fail("-: input contains a loop:")
		for _, w := range order {
			if waits[w] > 0 {
				c.errorf("%s", w)
			}
		}
	}
	return c.status
}
