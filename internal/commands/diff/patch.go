package diff

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"coderunner/internal/commands/command"
	"coderunner/pyodide/abi"
)

// patcher is a running patch.
type patcher struct {
	c      *command.Call
	o      *command.Options
	strip  int // -1: the base name
	fuzz   int
	status int
}

// Patch applies a diff to files.
func Patch(c *command.Call) int {
	o := c.Parse("p,strip= R,reverse i,input= d,directory= o,output= b,backup z,suffix= N,forward f,force t,batch s,quiet,silent u,unified n,normal dry-run E,remove-empty-files l,ignore-whitespace F,fuzz= r,reject-file= V= c,context e,ed binary verbose posix merge=? no-backup-if-mismatch !B,prefix=")
	p := &patcher{c: c, o: o, strip: -1, fuzz: 2}
	if n := o.Value("p", ""); o.On("p") {
		strip, ok := command.Atoi(n)
		if !ok {
			return c.Die(2, "strip count %s is not a number", n)
		}
		p.strip = strip
	}
	if n, ok := command.Atoi(o.Value("F", "")); ok {
		p.fuzz = n
	}
	if o.On("c") || o.On("e") || o.On("merge") {
		return c.Die(2, "only unified and normal diffs are available in this sandbox")
	}
	input := o.Value("i", "-")
	if len(o.Args) > 1 {
		input = o.Args[1]
	}
	data, err := c.ReadFile(input)
	if err != nil {
		return c.Die(2, "**** Can't open patch file %s : %s", input, command.Text(err))
	}
	if d := o.Value("d", ""); d != "" {
		if !c.IsDir(d) {
			return c.Die(2, "**** Can't change to directory %s : %s", d, command.Text(abi.ENOENT))
		}
		c.Dir = c.Canonical(d, true)
	}
	files, err := parsePatch(data)
	if err != nil {
		return c.Die(2, "**** %s", err)
	}
	if len(files) == 0 {
		return c.Die(2, "**** Only garbage was found in the patch input.")
	}
	for _, f := range files {
		if c.Stopped() {
			return 2
		}
		p.file(f)
	}
	return p.status
}

// target finds the file that a patch is for.
func (p *patcher) target(f filePatch) string {
	if len(p.o.Args) > 0 {
		return p.o.Args[0]
	}
	old, new := p.stripped(f.old), p.stripped(f.new)
	if p.o.On("R") {
		old, new = new, old
	}
	for _, name := range []string{old, new} {
		if name != "" {
			if _, err := p.c.Stat(name); err == nil {
				return name
			}
		}
	}
	if f.old == "/dev/null" || len(f.hunks) > 0 && len(f.hunks[0].old) == 0 {
		return new
	}
	return ""
}

// stripped is a name without leading components; "" for one that leads out of
// the directory.
func (p *patcher) stripped(name string) string {
	if name == "/dev/null" || name == "" {
		return ""
	}
	if p.strip < 0 {
		return command.Base(name)
	}
	for range p.strip {
		_, rest, ok := strings.Cut(name, "/")
		if !ok {
			return ""
		}
		name = strings.TrimLeft(rest, "/")
	}
	if strings.HasPrefix(name, "/") || name == ".." || strings.HasPrefix(name, "../") || strings.Contains(name, "/../") {
		p.c.Printf("Ignoring potentially dangerous file name %s\n", name)
		return ""
	}
	return name
}

func (p *patcher) file(f filePatch) {
	c, o := p.c, p.o
	name := p.target(f)
	if name == "" {
		c.Print("can't find file to patch\n")
		p.status = 1
		return
	}
	data, err := c.ReadFile(name)
	exists := err == nil
	if err != nil && !errors.Is(err, abi.ENOENT) {
		p.status = 2
		c.Errorf("%s: %s", name, command.Text(err))
		return
	}
	verb := "patching"
	if o.On("dry-run") {
		verb = "checking"
	}
	if to := o.Value("o", ""); to != "" && !o.On("s") {
		c.Printf("%s file %s (read from %s)\n", verb, to, name)
	} else if !o.On("s") {
		c.Printf("%s file %s\n", verb, name)
	}
	var rejected []patchHunk
	out, offset := split(data), 0
	done := 0 // lines of out that hunks have passed
	for i, h := range f.hunks {
		if o.On("R") {
			h = h.reversed()
		}
		first := h.at - 1 + command.Btoi(len(h.old) == 0)
		at, fuzz, ok := p.place(&out, h, first+offset, done)
		if !ok {
			if i == 0 && !o.On("R") && !o.On("f") {
				if _, _, applied := p.place(&out, h.reversed(), h.newAt-1, 0); applied && len(h.new) > 0 {
					c.Print("Reversed (or previously applied) patch detected!  Skipping patch.\n")
					p.reject(name, f.hunks, len(f.hunks), "ignored")
					return
				}
			}
			c.Printf("Hunk #%d FAILED at %d.\n", i+1, h.at)
			rejected = append(rejected, h)
			continue
		}
		if (at-first != offset || fuzz > 0) && !o.On("s") {
			p.note(i+1, at, fuzz, at-first-offset)
		}
		offset = at - first + p.apply(&out, h, at, fuzz)
		done = at + len(h.new)
	}
	if len(rejected) > 0 {
		p.reject(name, rejected, len(f.hunks), "FAILED")
	}
	if !o.On("dry-run") {
		p.write(name, f, out, exists, data)
	}
}

// note prints where a hunk went.
func (p *patcher) note(number, at, fuzz, off int) {
	p.c.Printf("Hunk #%d succeeded at %d", number, at+1)
	if fuzz > 0 {
		p.c.Printf(" with fuzz %d", fuzz)
	}
	if off != 0 {
		plural := "s"
		if off == 1 || off == -1 {
			plural = ""
		}
		p.c.Printf(" (offset %d line%s)", off, plural)
	}
	p.c.Print(".\n")
}

// place finds where a hunk fits, nearest to where it should, with as little fuzz
// as possible.
func (p *patcher) place(s *side, h patchHunk, want, from int) (at, fuzz int, ok bool) {
	if len(h.old) == 0 {
		return min(max(want, from), len(s.lines)), 0, want <= len(s.lines)+1 || len(s.lines) == 0
	}
	most := min(p.fuzz, max(h.before, h.after))
	for fuzz = 0; fuzz <= most; fuzz++ {
		for off := 0; off <= len(s.lines); off++ {
			if off&0xfff == 0 && p.c.Stopped() {
				return 0, 0, false
			}
			if p.fits(s, h, want+off, fuzz) && want+off >= from {
				return want + off, fuzz, true
			}
			if off > 0 && want-off >= from && p.fits(s, h, want-off, fuzz) {
				return want - off, fuzz, true
			}
		}
	}
	return 0, 0, false
}

func (p *patcher) fits(s *side, h patchHunk, at, fuzz int) bool {
	lo, hi := min(fuzz, h.before), len(h.old)-min(fuzz, h.after)
	if at < 0 || hi < lo || at+hi > len(s.lines) { // in a hunk of context alone both ends may be the same lines
		return false
	}
	for i := lo; i < hi; i++ {
		a, b := s.lines[at+i], h.old[i]
		if p.o.On("l") {
			a, b = bytes.Join(bytes.Fields(a), []byte(" ")), bytes.Join(bytes.Fields(b), []byte(" "))
		}
		if !bytes.Equal(a, b) {
			return false
		}
	}
	return true
}

// apply puts a hunk in place and returns by how many lines the text grew.
func (p *patcher) apply(s *side, h patchHunk, at, fuzz int) int {
	lo, hiOld := min(fuzz, h.before), len(h.old)-min(fuzz, h.after)
	hiNew := len(h.new) - min(fuzz, h.after)
	atEnd := at+hiOld >= len(s.lines)
	lines := make([][]byte, 0, len(s.lines)+hiNew-hiOld)
	lines = append(lines, s.lines[:at+lo]...)
	lines = append(lines, h.new[lo:hiNew]...)
	lines = append(lines, s.lines[at+hiOld:]...)
	s.lines = lines
	if atEnd {
		s.bare = h.newBare || s.bare && !h.oldBare && len(h.new) == 0
	}
	return hiNew - hiOld
}

func (p *patcher) reject(name string, hunks []patchHunk, total int, what string) {
	p.status = max(p.status, 1)
	rej := p.o.Value("r", name+".rej")
	plural := "s"
	if total == 1 {
		plural = ""
	}
	p.c.Printf("%d out of %d hunk%s %s", len(hunks), total, plural, what)
	if p.o.On("dry-run") {
		p.c.Print("\n")
		return
	}
	p.c.Printf(" -- saving rejects to file %s\n", rej)
	var b bytes.Buffer
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
	for _, h := range hunks {
		b.Write(h.source)
		b.WriteByte('\n')
	}
	f, err := p.c.Create(rej)
	if err == nil {
		_, err = f.Write(b.Bytes())
		f.Close()
	}
	p.c.Failed(rej, err)
}

func (p *patcher) write(name string, f filePatch, s side, exists bool, before []byte) {
	c, o := p.c, p.o
	if o.On("b") && exists {
		c.FS.WriteFile(c.Abs(name+o.Value("z", ".orig")), before, 0o644)
	}
	removes := f.new
	if o.On("R") {
		removes = f.old
	}
	if len(s.lines) == 0 && (removes == "/dev/null" || o.On("E")) && p.status == 0 {
		c.FS.Unlink(nil, c.Abs(name))
		return
	}
	if out := o.Value("o", ""); out != "" {
		name = out
	}
	if strings.Contains(name, "/") {
		c.FS.MkdirAll(c.Canonical(command.Dir(name), false), 0o755)
	}
	file, err := c.Create(name)
	if err != nil {
		c.Failed(name, err)
		p.status = 2
		return
	}
	w := command.NewWriter(file)
	for i, l := range s.lines {
		w.Write(l)
		if i < len(s.lines)-1 || !s.bare {
			w.WriteByte('\n')
		}
	}
	err = w.Flush()
	file.Close()
	if err != nil {
		c.Failed(name, err)
		p.status = 2
	}
}
