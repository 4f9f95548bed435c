package diff

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/userland/commands/command"
)

// patcher is a running patch.
type patcher struct {
	c      *command.Call
	o      *command.Options
	strip  int // -1: the base name
	fuzz   int
	status int

	reversed bool // the current file's patch is applied the other way round
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
	c.Need(err, 2, "**** Can't open patch file %s ", input)
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
	if len(files) == 0 && len(data) > 0 {
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
	p.reversed = o.On("R")
	if len(data) > 0 && f.from(p.reversed) == "/dev/null" && !o.On("f") {
		reversed := map[bool]string{true: ", when reversed,"}[p.reversed]
		if !p.turns(fmt.Sprintf("The next patch%s would create the file %s,\nwhich already exists!", reversed, name)) {
			p.ignored(len(f.hunks), len(f.hunks), "ignored")
			c.Print("\n")
			return
		}
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
	out := split(data)
	rejected, skipped := p.hunks(&out, f)
	if skipped {
		p.reject(name, f.hunks, len(f.hunks), "ignored")
		return
	}
	if len(rejected) > 0 {
		p.reject(name, rejected, len(f.hunks), "FAILED")
	}
	if !o.On("dry-run") {
		p.write(name, f, out, exists, data)
	}
}

// hunks applies the hunks of a file's patch. It returns those that do not fit, or that
// the patch is skipped because it is applied already.
func (p *patcher) hunks(out *side, f filePatch) (rejected []patchHunk, skipped bool) {
	offset, done := 0, 0 // done: lines of out that hunks have passed
	for i, h := range f.hunks {
		if p.reversed {
			h = h.reversed()
		}
		at, fuzz, ok := p.place(out, h, offset, done)
		if before := h.reversed(); i == 0 && !p.o.On("f") && p.reversed == p.o.On("R") {
			// Where it fits as well once it is applied, the smaller fuzz decides.
			if back, backFuzz, applied := p.place(out, before, offset, done); applied && (!ok || backFuzz < fuzz) {
				what := map[bool]string{true: "Unreversed", false: "Reversed (or previously applied)"}[p.reversed]
				if !p.turns(what + " patch detected!") {
					return nil, true
				}
				h, at, fuzz, ok = before, back, backFuzz, true
			}
		}
		if !ok {
			p.c.Printf("Hunk #%d FAILED at %d.\n", i+1, h.at)
			rejected = append(rejected, h)
			continue
		}
		first := h.first()
		if (at-first != offset || fuzz > 0) && !p.o.On("s") {
			p.note(i+1, at, fuzz, at-first-offset)
		}
		offset = at - first + p.apply(out, h, at, fuzz)
		done = at + len(h.new)
	}
	return rejected, false
}

// turns says what is wrong with the direction of a patch, turns it if it is to be, and
// reports whether: nobody is there to be asked.
func (p *patcher) turns(what string) bool {
	p.c.Print(what)
	switch {
	case p.o.On("N"):
		p.c.Print("  Skipping patch.\n")
	case p.o.On("t"):
		p.c.Print(map[bool]string{true: "  Ignoring -R.\n", false: "  Assuming -R.\n"}[p.reversed])
		p.reversed = !p.reversed
		return true
	default:
		p.c.Print(map[bool]string{true: "  Ignore -R? [n] \n", false: "  Assume -R? [n] \n"}[p.reversed] + "Apply anyway? [n] \n")
		if !p.o.On("s") {
			p.c.Print("Skipping patch.\n")
		}
	}
	return false
}

// note prints where a hunk went.
func (p *patcher) note(number, at, fuzz, off int) {
	p.c.Printf("Hunk #%d succeeded at %d", number, at+1)
	if fuzz > 0 {
		p.c.Printf(" with fuzz %d", fuzz)
	}
	if off != 0 {
		p.c.Printf(" (offset %d line%s)", off, command.Plural(max(off, -off)))
	}
	p.c.Print(".\n")
}

// apply puts a hunk in place and returns by how many lines the text grew.
func (p *patcher) apply(s *side, h patchHunk, at, fuzz int) int {
	lead, tail := h.ignored(fuzz)
	lo, hiOld, hiNew := max(lead, 0), len(h.old)-max(tail, 0), len(h.new)-max(tail, 0)
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

// ignored begins the line about hunks that were not applied.
func (p *patcher) ignored(n, total int, what string) {
	p.status = max(p.status, 1)
	p.c.Printf("%d out of %d hunk%s %s", n, total, command.Plural(total), what)
}

func (p *patcher) reject(name string, hunks []patchHunk, total int, what string) {
	rej := p.o.Value("r", name+".rej")
	p.ignored(len(hunks), total, what)
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
		st, _ := c.Stat(name)
		c.FS.WriteFile(c.Abs(name+o.Value("z", ".orig")), before, st.Mode&0o777)
	}
	if len(s.lines) == 0 && (f.from(!p.reversed) == "/dev/null" || o.On("E")) && p.status == 0 {
		c.FS.Unlink(nil, c.Abs(name))
		return
	}
	if out := o.Value("o", ""); out != "" {
		name = out
	}
	if strings.Contains(name, "/") {
		c.MkdirAll(c.Canonical(command.Dir(name), false))
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
