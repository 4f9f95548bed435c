package text

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// joiner is a running join: two inputs sorted on their keys.
type joiner struct {
	c        *command.Call
	o        *command.Options
	tab      string // the separator; "" is blanks
	empty    string
	format   []joinField
	fold     bool
	in       [2]joinInput
	unpaired bool   // a line had no partner where the other file has lines left: the order is looked at from now on
	count    [2]int // fields of the first lines, for -o auto
}

type joinField struct{ file, field int } // file -1 is the key

type joinInput struct {
	l      *command.Lines
	key    int
	fields []string
	ok     bool
	before string
	bad    bool
	number int
	name   string
}

// Join joins the lines of two sorted files on a common field.
func Join(c *command.Call) int {
	o := c.Parse("1= 2= j= a= v= e= i,ignore-case o= t= check-order nocheck-order header z,zero-terminated", 2, 2)
	j := &joiner{c: c, o: o, tab: o.Value("t", ""), empty: o.Value("e", ""), fold: o.On("i")}
	if len(j.tab) > 1 && j.tab != `\0` {
		return c.Die(1, "multi-character tab %s", command.Quote(j.tab))
	}
	for _, s := range append(o.Values("a"), o.Values("v")...) {
		if s != "1" && s != "2" {
			return c.Die(1, "invalid file number: %s", command.Quote(s))
		}
	}
	j.fieldList(o.Value("o", ""))
	for i, name := range o.Args {
		key := c.Int(o.Value([]string{"1", "2"}[i], o.Value("j", "1")), 1, math.MaxInt, "invalid field number: %s")
		j.in[i] = joinInput{l: c.Lines(c.Input(name), command.LineEnd(o.On("z"))), key: key - 1, name: name}
		j.step(i)
		j.count[i] = len(j.in[i].fields)
	}
	j.run()
	if j.in[0].bad || j.in[1].bad {
		c.Fail("input is not in sorted order")
	}
	return c.Status
}

// fieldList parses the argument of -o.
func (j *joiner) fieldList(list string) {
	if list == "auto" {
		return
	}
	for f := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		if f == "0" {
			j.format = append(j.format, joinField{-1, 0})
			continue
		}
		file, number, _ := strings.Cut(f, ".")
		n, ok := command.Atoi(number)
		if !ok || n < 1 || file != "1" && file != "2" {
			j.c.Exit(1, "invalid field specifier: %s", command.Quote(f))
		}
		j.format = append(j.format, joinField{int(file[0] - '1'), n - 1})
	}
}

func (j *joiner) split(line []byte) []string {
	if j.tab == "" {
		return strings.FieldsFunc(string(line), func(r rune) bool { return r == ' ' || r == '\t' })
	}
	return strings.Split(string(line), j.tab)
}

func (j *joiner) key(i int) string {
	in := &j.in[i]
	if in.key >= len(in.fields) {
		return ""
	}
	if j.fold {
		return strings.ToLower(in.fields[in.key])
	}
	return in.fields[in.key]
}

func (j *joiner) step(i int) {
	in := &j.in[i]
	line, ok := in.l.Next()
	if in.number++; ok && j.tab == "" {
		line = bytes.TrimRight(line, " \t")
	}
	in.fields, in.ok = j.split(line), ok
	key := j.key(i)
	if ok && key < in.before && !in.bad && !j.o.On("nocheck-order") && (j.unpaired || j.o.On("check-order")) && !(j.o.On("header") && in.number <= 2) {
		in.bad = true
		j.c.Fail("%s:%d: is not sorted: %s", in.name, in.number, line)
	}
	in.before = key
}

func (j *joiner) wants(option string, i int) bool {
	return slices.Contains(j.o.Values(option), []string{"1", "2"}[i])
}

func (j *joiner) run() {
	if j.o.On("header") && (j.in[0].ok || j.in[1].ok) {
		j.print(j.in[0].fields, j.in[1].fields)
		j.step(0)
		j.step(1)
	}
	for (j.in[0].ok || j.in[1].ok) && !j.c.Stopped() {
		a, b := j.key(0), j.key(1)
		switch {
		case !j.in[1].ok || j.in[0].ok && a < b:
			j.alone(0)
		case !j.in[0].ok || a > b:
			j.alone(1)
		default:
			j.group(a)
		}
	}
}

func (j *joiner) alone(i int) {
	j.unpaired = j.unpaired || j.in[1-i].ok
	if j.wants("a", i) || j.wants("v", i) {
		var pair [2][]string
		pair[i] = j.in[i].fields
		j.print(pair[0], pair[1])
	}
	j.step(i)
}

// group joins all lines with one key.
func (j *joiner) group(key string) {
	var second [][]string
	held := int64(0)
	defer func() { j.c.Release(held) }()
	for j.in[1].ok && j.key(1) == key {
		size := int64(48)
		for _, field := range j.in[1].fields {
			size += int64(len(field)) + 16
		}
		j.c.Must(j.c.Reserve(size))
		held += size
		second = append(second, j.in[1].fields)
		j.step(1)
	}
	for j.in[0].ok && j.key(0) == key && !j.c.Stopped() {
		if !j.o.On("v") {
			for _, s := range second {
				j.print(j.in[0].fields, s)
			}
		}
		j.step(0)
	}
}

func (j *joiner) print(a, b []string) {
	pair := [2][]string{a, b}
	get := func(file, field int) string {
		if field < len(pair[file]) && pair[file][field] != "" {
			return pair[file][field]
		}
		return j.empty
	}
	key := func() string {
		if a != nil {
			return get(0, j.in[0].key)
		}
		return get(1, j.in[1].key)
	}
	var row []string
	for _, f := range j.format {
		if f.file < 0 {
			row = append(row, key())
		} else {
			row = append(row, get(f.file, f.field))
		}
	}
	if j.format == nil {
		row = append(row, key())
		for file, fields := range pair {
			n := len(fields)
			if j.o.Value("o", "") == "auto" {
				n = j.count[file]
			}
			for i := range n {
				if i != j.in[file].key {
					row = append(row, get(file, i))
				}
			}
		}
	}
	sep := j.tab
	j.c.Printf("%s%c", strings.Join(row, cmp.Or(sep, " ")), command.LineEnd(j.o.On("z")))
}
