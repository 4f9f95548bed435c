package commands

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// sortKey is what lines are compared by: a range of fields and how.
type sortKey struct {
	from, fromChar       int // from 0
	to, toChar           int // the field after the last one; -1: to the end
	startBlank, endBlank bool
	fold, dict, printing bool
	kind                 byte // n, g, h, M, V, R or 0
	reverse              bool
	whole                bool // no -k: the line
}

const sortFlags = "bdfigMhnRrV"

func (k *sortKey) flag(f rune, start, end bool) {
	switch f {
	case 'b':
		k.startBlank, k.endBlank = k.startBlank || start, k.endBlank || end
	case 'd':
		k.dict = true
	case 'f':
		k.fold = true
	case 'i':
		k.printing = true
	case 'r':
		k.reverse = true
	default:
		k.kind = byte(f)
	}
}

func (k *sortKey) plain() bool {
	return !k.startBlank && !k.endBlank && !k.fold && !k.dict && !k.printing && k.kind == 0 && !k.reverse
}

// parseSortKey reads POS1[,POS2] of -k.
func parseSortKey(s string) (k sortKey, problem string) {
	k.to = -1
	start, end, has := strings.Cut(s, ",")
	field, char, flags, ok := sortPos(start)
	if !ok {
		return k, "invalid number at field start: invalid count at start of " + quote(start)
	}
	if field == 0 {
		return k, "-: invalid field specification " + quote(s)
	}
	k.from, k.fromChar = field-1, max(0, char-1)
	for _, f := range flags {
		if !strings.ContainsRune(sortFlags, f) {
			return k, "stray character in field spec: invalid field specification " + quote(s)
		}
		k.flag(f, true, false)
	}
	if !has {
		return k, ""
	}
	field, char, flags, ok = sortPos(end)
	if !ok || field == 0 {
		return k, "invalid number after ',': invalid count at start of " + quote(end)
	}
	k.to, k.toChar = field, max(0, char)
	for _, f := range flags {
		if !strings.ContainsRune(sortFlags, f) {
			return k, "stray character in field spec: invalid field specification " + quote(s)
		}
		k.flag(f, false, true)
	}
	return k, ""
}

// sortPos reads F[.C][flags]; char is -1 if there is none.
func sortPos(s string) (field, char int, flags string, ok bool) {
	number := func() int {
		end := 0
		for end < len(s) && s[end] >= '0' && s[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(s[:end])
		ok = err == nil
		s = s[end:]
		return n
	}
	field, char = number(), -1
	if ok && strings.HasPrefix(s, ".") {
		s = s[1:]
		char = number()
	}
	return field, char, s, ok
}

// sorter compares lines.
type sorter struct {
	keys    []sortKey
	tab     []byte // nil: at the change from non-blank to blank
	stable  bool
	unique  bool
	reverse bool
	random  uint64
}

// field returns the part of the line that a key compares.
func (s *sorter) field(line []byte, k *sortKey) []byte {
	if k.whole {
		if k.startBlank {
			return bytes.TrimLeft(line, " \t")
		}
		return line
	}
	begin := s.skip(line, k.from)
	if k.startBlank {
		for begin < len(line) && blank(line[begin]) {
			begin++
		}
	}
	begin = min(len(line), begin+k.fromChar)
	end := len(line)
	if k.to >= 0 {
		if k.toChar == 0 {
			end = s.skip(line, k.to)
			if s.tab != nil && end > 0 && end <= len(line) && s.ended(line, k.to) {
				end--
			}
		} else {
			end = s.skip(line, k.to-1)
			if k.endBlank {
				for end < len(line) && blank(line[end]) {
					end++
				}
			}
			end = min(len(line), end+k.toChar)
		}
	}
	if end < begin {
		return nil
	}
	return line[begin:end]
}

func blank(b byte) bool { return b == ' ' || b == '\t' }

// skip returns the offset of the field after n fields.
func (s *sorter) skip(line []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(line); n-- {
		if s.tab != nil {
			next := bytes.IndexByte(line[at:], s.tab[0])
			if next < 0 {
				return len(line)
			}
			at += next + 1
			continue
		}
		for at < len(line) && blank(line[at]) {
			at++
		}
		for at < len(line) && !blank(line[at]) {
			at++
		}
	}
	return at
}

// ended reports whether a separator ends the n-th field.
func (s *sorter) ended(line []byte, n int) bool { return bytes.Count(line, s.tab) >= n }

func (s *sorter) compare(a, b []byte) int {
	if d := s.compareKeys(a, b); d != 0 || s.stable || s.unique {
		return d
	}
	d := bytes.Compare(a, b)
	if s.reverse {
		return -d
	}
	return d
}

func (s *sorter) compareKeys(a, b []byte) int {
	for i := range s.keys {
		k := &s.keys[i]
		d := s.compareBy(k, s.field(a, k), s.field(b, k))
		if d != 0 {
			if k.reverse {
				return -d
			}
			return d
		}
	}
	return 0
}

func (s *sorter) compareBy(k *sortKey, a, b []byte) int {
	switch k.kind {
	case 'n':
		return compareNumeric(a, b)
	case 'g':
		return compareGeneral(a, b)
	case 'h':
		return cmp.Or(cmp.Compare(unitOf(a), unitOf(b)), compareNumeric(a, b))
	case 'M':
		return cmp.Compare(month(a), month(b))
	case 'V':
		return compareVersions(string(a), string(b))
	case 'R':
		return cmp.Or(cmp.Compare(scramble(a, s.random), scramble(b, s.random)), bytes.Compare(a, b))
	}
	if k.fold || k.dict || k.printing {
		return bytes.Compare(k.normal(a), k.normal(b))
	}
	return bytes.Compare(a, b)
}

func (k *sortKey) normal(a []byte) []byte {
	n := make([]byte, 0, len(a))
	for _, b := range a {
		if k.dict && !blank(b) && !trClasses["alnum"](int(b)) || k.printing && !trClasses["print"](int(b)) {
			continue
		}
		if k.fold && b >= 'a' && b <= 'z' {
			b -= 32
		}
		n = append(n, b)
	}
	return n
}

func scramble(b []byte, seed uint64) uint64 {
	h := seed ^ 14695981039346656037
	for _, v := range b {
		h = (h ^ uint64(v)) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	return h ^ h>>29
}

// numeric splits the number at the start of a: its sign, the digits without
// leading zeros, and those after the point without trailing ones.
func numeric(a []byte) (negative bool, whole, part []byte) {
	a = bytes.TrimLeft(a, " \t")
	if len(a) > 0 && a[0] == '-' {
		negative, a = true, a[1:]
	}
	for len(a) > 0 && a[0] == '0' {
		a = a[1:]
	}
	end := 0
	for end < len(a) && a[end] >= '0' && a[end] <= '9' {
		end++
	}
	whole = a[:end]
	if end < len(a) && a[end] == '.' {
		part = a[end+1:]
		n := 0
		for n < len(part) && part[n] >= '0' && part[n] <= '9' {
			n++
		}
		part = bytes.TrimRight(part[:n], "0")
	}
	if len(whole)+len(part) == 0 {
		negative = false
	}
	return negative, whole, part
}

func compareNumeric(a, b []byte) int {
	n1, w1, p1 := numeric(a)
	n2, w2, p2 := numeric(b)
	if n1 != n2 {
		if n1 {
			return -1
		}
		return 1
	}
	d := cmp.Or(cmp.Compare(len(w1), len(w2)), bytes.Compare(w1, w2), bytes.Compare(p1, p2))
	if n1 {
		return -d
	}
	return d
}

// compareGeneral is the order of -g: no number, then NaN, then numbers.
func compareGeneral(a, b []byte) int {
	x, ok1 := leadingFloat(string(a))
	y, ok2 := leadingFloat(string(b))
	rank := func(ok bool, v float64) int {
		switch {
		case !ok:
			return 0
		case math.IsNaN(v):
			return 1
		}
		return 2
	}
	if r, s := rank(ok1, x), rank(ok2, y); r != s || r < 2 {
		return cmp.Compare(r, s)
	}
	return cmp.Compare(x, y)
}

// leadingFloat reads the longest number at the start of s, as strtod does.
func leadingFloat(s string) (float64, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	end := floatLen(s)
	v, err := strconv.ParseFloat(s[:end], 64)
	return v, end > 0 && (err == nil || math.IsInf(v, 0))
}

// floatLen is the length of the number at the start of s.
func floatLen(s string) int {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	rest := strings.ToLower(s[i:min(len(s), i+8)])
	for _, word := range []string{"infinity", "inf", "nan"} {
		if strings.HasPrefix(rest, word) {
			return i + len(word)
		}
	}
	digits := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		digits++
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			digits++
		}
	}
	if digits == 0 {
		return 0
	}
	if i < len(s) && s[i]|32 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if j < len(s) && s[j] >= '0' && s[j] <= '9' {
			for i = j; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			}
		}
	}
	return i
}

// unitOf ranks the SI suffix after a number.
func unitOf(a []byte) int {
	negative, whole, part := numeric(a)
	if len(whole)+len(part) == 0 {
		return 0
	}
	rest := bytes.TrimLeft(bytes.TrimLeft(a, " \t"), "-0123456789.")
	if len(rest) == 0 {
		return 0
	}
	rank := strings.IndexByte("KMGTPEZY", rest[0]) + 1
	if rest[0] == 'k' {
		rank = 1
	}
	if negative {
		return -rank
	}
	return rank
}

func month(a []byte) int {
	a = bytes.TrimLeft(a, " \t")
	if len(a) < 3 {
		return 0
	}
	at := strings.Index("JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", strings.ToUpper(string(a[:3])))
	if at < 0 || at%3 != 0 {
		return 0
	}
	return at/3 + 1
}

// compareVersions is the order of -V: runs of digits as numbers, "~" before
// everything, letters before other characters.
func compareVersions(a, b string) int {
	if a == b {
		return 0
	}
	order := func(s string, i int) int {
		switch {
		case i >= len(s) || s[i] >= '0' && s[i] <= '9':
			return 0
		case s[i] == '~':
			return -1
		case s[i]|32 >= 'a' && s[i]|32 <= 'z':
			return int(s[i])
		}
		return int(s[i]) + 256
	}
	digit := func(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		for i < len(a) && !digit(a, i) || j < len(b) && !digit(b, j) {
			if d := cmp.Compare(order(a, i), order(b, j)); d != 0 {
				return d
			}
			i, j = i+1, j+1
		}
		for digit(a, i) && a[i] == '0' {
			i++
		}
		for digit(b, j) && b[j] == '0' {
			j++
		}
		si, sj := i, j
		for digit(a, i) {
			i++
		}
		for digit(b, j) {
			j++
		}
		if d := cmp.Or(cmp.Compare(i-si, j-sj), strings.Compare(a[si:i], b[sj:j])); d != 0 {
			return d
		}
	}
	return strings.Compare(a, b)
}

// sortOptions reads the command line into a sorter.
func sortOptions(c *call, o *options) (*sorter, int) {
	s := &sorter{stable: o.on("s"), unique: o.on("u"), random: 0x9e3779b97f4a7c15}
	global := sortKey{to: -1, whole: true}
	for _, f := range o.set {
		if strings.Contains(sortFlags, f.name) {
			global.flag(rune(f.name[0]), true, true)
		}
	}
	if kind := o.value("sort", ""); kind != "" {
		at := slices.Index([]string{"numeric", "general-numeric", "human-numeric", "month", "version", "random"}, kind)
		if at < 0 {
			return nil, c.usage(2, "invalid argument %s for '--sort'", quote(kind))
		}
		global.kind = "nghMVR"[at]
	}
	if n := strings.Join(slices.DeleteFunc([]string{"g", "h", "M", "n"}, func(f string) bool { return !o.on(f) }), ""); len(n) > 1 {
		return nil, c.die(2, "options '-%s' are incompatible", n)
	}
	for _, spec := range o.values("k") {
		k, problem := parseSortKey(spec)
		if problem != "" {
			return nil, c.die(2, "%s", problem)
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
	if tab := o.value("t", ""); o.on("t") {
		switch {
		case tab == "":
			return nil, c.die(2, "empty tab")
		case tab == `\0`:
			tab = "\x00"
		case len(tab) > 1:
			return nil, c.die(2, "multi-character tab %s", quote(tab))
		}
		s.tab = []byte(tab)
	}
	if s.keys == nil {
		s.stable = false
		s.keys = []sortKey{{to: -1, whole: true, reverse: s.reverse}}
	}
	return s, 0
}

func sortLines(c *call) int {
	o, status := c.options("b,ignore-leading-blanks d,dictionary-order f,ignore-case g,general-numeric-sort h,human-numeric-sort i,ignore-nonprinting M,month-sort n,numeric-sort R,random-sort r,reverse V,version-sort k,key= s,stable u,unique t,field-separator= o,output= z,zero-terminated c,check=? C m,merge S,buffer-size= T,temporary-directory= parallel= sort= batch-size= compress-program= !random-source= !files0-from= !debug")
	if o == nil {
		return status
	}
	s, status := sortOptions(c, o)
	if s == nil {
		return status
	}
	end := lineEnd(o.on("z"))
	if o.on("c") || o.on("C") {
		return sortCheck(c, o, s, end)
	}
	var all [][]byte
	names := o.args
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		data, err := c.readFile(name)
		if err != nil {
			if c.stopped() {
				return 2
			}
			return c.die(2, "cannot read: %s: %s", quotef(name), text(err))
		}
		if err := c.reserve(int64(24 * (bytes.Count(data, []byte{end}) + 1))); err != nil {
			return c.die(2, "%s", err)
		}
		for len(data) > 0 {
			line, rest, _ := bytes.Cut(data, []byte{end})
			all, data = append(all, line), rest
		}
	}
	s.sort(c, all)
	if s.unique {
		all = slices.CompactFunc(all, func(a, b []byte) bool { return s.compareKeys(a, b) == 0 })
	}
	if c.stopped() {
		return 2
	}
	out := c.out
	if name := o.value("o", ""); name != "" {
		f, err := c.create(name)
		if err != nil {
			return c.die(2, "open failed: %s: %s", quotef(name), text(err))
		}
		defer f.Close()
		out = newWriter(f)
		defer out.Flush()
	}
	for _, line := range all {
		out.Write(line)
		if out.WriteByte(end) != nil {
			break
		}
	}
	return c.status
}

// sort sorts the lines. Cancellation makes all of them equal, so that it ends
// soon.
func (s *sorter) sort(c *call, all [][]byte) {
	done := c.ctx.Done()
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

func sortCheck(c *call, o *options, s *sorter, end byte) int {
	if len(o.args) > 1 {
		return c.die(2, "extra operand %s not allowed with -c", quote(o.args[1]))
	}
	name := "-"
	if len(o.args) == 1 {
		name = o.args[0]
	}
	r, err := c.open(name)
	if err != nil {
		return c.die(2, "cannot read: %s: %s", quotef(name), text(err))
	}
	defer r.Close()
	var before []byte
	l := c.lines(r, end)
	for n := 1; ; n++ {
		line, ok := l.next()
		if !ok {
			return 0
		}
		if n > 1 {
			if d := s.compare(before, line); d > 0 || d == 0 && s.unique {
				quiet := o.on("C") || strings.HasPrefix(o.value("c", ""), "q") || strings.HasPrefix(o.value("c", ""), "s")
				if !quiet {
					c.errorf("%s:%d: disorder: %s", name, n, line)
				}
				return 1
			}
		}
		before = append(before[:0], line...)
	}
}
