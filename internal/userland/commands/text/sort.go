package text

import (
	"bytes"
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// sorter compares lines.
type sorter struct {
	keys    []sortKey
	tab     []byte // nil: at the change from non-blank to blank
	stable  bool
	unique  bool
	reverse bool
	random  uint64
}

// sortOptions reads the command line into a sorter.
func sortOptions(c *command.Call, o *command.Options) *sorter {
	s := &sorter{stable: o.On("s"), unique: o.On("u"), random: 0x9e3779b97f4a7c15}
	global := sortKey{to: -1, whole: true}
	for _, f := range o.Set {
		if strings.Contains(sortFlags, f.Name) {
			global.flag(rune(f.Name[0]), true, true)
		}
	}
	if kind := o.Value("sort", ""); kind != "" {
		at := slices.Index([]string{"numeric", "general-numeric", "human-numeric", "month", "version", "random"}, kind)
		if at < 0 {
			c.Refuse(2, "invalid argument %s for '--sort'", command.Quote(kind))
		}
		global.kind = "nghMVR"[at]
	}
	if n := strings.Join(slices.DeleteFunc([]string{"g", "h", "M", "n"}, func(f string) bool { return !o.On(f) }), ""); len(n) > 1 {
		c.Exit(2, "options '-%s' are incompatible", n)
	}
	for _, spec := range o.Values("k") {
		k, problem := parseSortKey(spec)
		if problem != "" {
			c.Exit(2, "%s", problem)
		}
		if k.plain() {
			from, fromChar, to, toChar := k.from, k.fromChar, k.to, k.toChar
			k = global
			k.from, k.fromChar, k.to, k.toChar, k.whole = from, fromChar, to, toChar, false
		}
		s.keys = append(s.keys, k)
	}
	if s.reverse = global.reverse; s.keys == nil && !global.plain() {
		s.keys = []sortKey{global}
		if r := global; func() bool { r.reverse = false; return r.plain() }() {
			s.keys = nil // -r alone is the last resort's
		}
	}
	if tab := o.Value("t", ""); o.On("t") {
		switch {
		case tab == "":
			c.Exit(2, "empty tab")
		case tab == `\0`:
			tab = "\x00"
		case len(tab) > 1:
			c.Exit(2, "multi-character tab %s", command.Quote(tab))
		}
		s.tab = []byte(tab)
	}
	if s.keys == nil {
		s.stable = false
		s.keys = []sortKey{{to: -1, whole: true, reverse: s.reverse}}
	}
	return s
}

// Sort writes the sorted lines of all files.
func Sort(c *command.Call) int {
	o := c.Parse("b,ignore-leading-blanks d,dictionary-order f,ignore-case g,general-numeric-sort h,human-numeric-sort i,ignore-nonprinting M,month-sort n,numeric-sort R,random-sort r,reverse V,version-sort k,key= s,stable u,unique t,field-separator= o,output= z,zero-terminated c,check=~ C m,merge S,buffer-size= T,temporary-directory= parallel= sort= batch-size= compress-program= !random-source= !files0-from= !debug")
	s, end := sortOptions(c, o), command.LineEnd(o.On("z"))
	if o.On("c") || o.On("C") {
		return sortCheck(c, o, s, end)
	}
	var all [][]byte
	for _, name := range o.Operands("-") {
		lines, err := c.ReadLines(name, end)
		switch {
		case c.Stopped():
			return 2
		case err != nil:
			return c.Die(2, "cannot read: %s: %s", command.Quotef(name), command.Text(err))
		}
		if all == nil {
			all = lines
			continue
		}
		c.Must(c.Reserve(int64(24 * len(all))))
		all = append(all, lines...)
	}
	s.sort(c, all)
	if s.unique {
		all = slices.CompactFunc(all, func(a, b []byte) bool { return s.compareKeys(a, b) == 0 })
	}
	if c.Stopped() {
		return 2
	}
	out := c.Output(o.Value("o", ""), 2, "open failed: ")
	for _, line := range all {
		out.Write(line)
		if out.WriteByte(end) != nil {
			break
		}
	}
	return c.Status
}

// sort sorts the lines. Cancellation makes all of them equal, so that it ends
// soon.
func (s *sorter) sort(c *command.Call, all [][]byte) {
	done := c.Ctx.Done()
	calls, over := 0, false
	less := s.compare
	if len(s.keys) == 1 && s.keys[0] == (sortKey{to: -1, whole: true}) {
		less = bytes.Compare
	}
	slices.SortStableFunc(all, func(a, b []byte) int {
		if calls++; calls&0xfff == 0 {
			select {
			case <-done:
				over = true
			default:
			}
		}
		if over {
			return 0
		}
		return less(a, b)
	})
}

func sortCheck(c *command.Call, o *command.Options, s *sorter, end byte) int {
	if len(o.Args) > 1 {
		return c.Die(2, "extra operand %s not allowed with -c", command.Quote(o.Args[1]))
	}
	name := o.Operands("-")[0]
	r, err := c.Open(name)
	c.Need(err, 2, "cannot read: %s", command.Quotef(name))
	defer r.Close()
	var before []byte
	n := 0
	for line := range c.Lines(r, end).All() {
		if n++; n > 1 {
			if d := s.compare(before, line); d > 0 || d == 0 && s.unique {
				quiet := o.On("C") || strings.HasPrefix(o.Value("c", ""), "q") || strings.HasPrefix(o.Value("c", ""), "s")
				if !quiet {
					c.Errorf("%s:%d: disorder: %s", name, n, line)
				}
				return 1
			}
		}
		before = append(before[:0], line...)
	}
	return 0
}
