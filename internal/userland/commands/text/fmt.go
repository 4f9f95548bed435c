package text

import (
	"strings"

	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/regex"
)

// Fmt is fmt: it fills paragraphs to a width.
func Fmt(c *command.Call) int {
	o := c.Parse("# c,crown-margin t,tagged-paragraph !p,prefix= s,split-only u,uniform-spacing w,width= !g,goal=")
	width := c.Int(o.Value("w", o.Value("#", "75")), 1, 2500, "invalid width: %s")
	f := &filler{c: c, width: width, goal: width * 187 / 200, uniform: o.On("u")}
	l := c.Lines(c.Concat(o.Args), '\n')
	for line := range l.All() {
		s := command.ExpandTabs(string(line), []int{8})
		trimmed := strings.TrimLeft(s, " ")
		indent := len(s) - len(trimmed)
		if trimmed == "" {
			f.flush()
			c.Print("\n")
			continue
		}
		if len(f.words) > 0 && (indent != f.indent || o.On("s")) {
			f.flush()
		}
		f.indent = indent
		f.add(trimmed)
	}
	f.flush()
	return c.Status
}

// filler collects a paragraph and breaks it so that the lines are close to the
// goal: the sum of the squares of what is missing is the least.
type filler struct {
	c           *command.Call
	width, goal int
	indent      int
	uniform     bool
	words       []string
	spaces      []int // after each word
}

func (f *filler) add(line string) {
	for len(line) > 0 {
		end := strings.IndexByte(line, ' ')
		if end < 0 {
			end = len(line)
		}
		rest := strings.TrimLeft(line[end:], " ")
		space := len(line) - end - len(rest)
		word := line[:end]
		sentence := period(word)
		switch {
		case rest == "" && sentence, f.uniform && space > 1 && sentence:
			space = 2
		case rest == "" || f.uniform:
			space = 1
		}
		f.words, f.spaces = append(f.words, word), append(f.spaces, space)
		line = rest
	}
}

// period reports whether a word ends as a sentence does, before closing quotes.
func period(word string) bool {
	if t := strings.TrimRight(word, ")]'\""); t != "" {
		word = t
	} else {
		word = word[:1]
	}
	return strings.IndexByte(".?!", word[len(word)-1]) >= 0
}

func (f *filler) flush() {
	n := len(f.words)
	if n == 0 {
		return
	}
	cost, next, lengths := make([]int, n+1), make([]int, n+1), make([]int, n+1)
	final := func(i int) bool { return i == n-1 || period(f.words[i]) && f.spaces[i] > 1 }
	for i := n - 1; i >= 0; i-- {
		length := f.indent
		cost[i] = 1 << 60
		for j := i; j < n; j++ {
			length += len(f.words[j])
			if length >= f.width && j > i {
				break
			}
			here := 0
			if j < n-1 {
				missing := f.goal - length
				here = missing * missing * 100
				if next[j+1] < n {
					here += (length - lengths[j+1]) * (length - lengths[j+1]) * 50
				}
			}
			if total := here + cost[j+1]; total < cost[i] {
				cost[i], next[i], lengths[i] = total, j+1, length
			}
			length += f.spaces[j]
		}
		// What it costs to begin a line with this word.
		cost[i] += 4900
		switch {
		case i == 0:
		case final(i - 1):
			cost[i] -= 2500
		case period(f.words[i-1]):
			cost[i] += 360000
		case regex.Classes["punct"](int(f.words[i-1][len(f.words[i-1])-1])):
			cost[i] -= 1600
		case i > 1 && final(i-2):
			cost[i] += 40000 / (len(f.words[i-1]) + 2)
		}
		switch {
		case strings.IndexByte("(['`\"", f.words[i][0]) >= 0:
			cost[i] -= 1600
		case final(i):
			cost[i] += 22500 / (len(f.words[i]) + 2)
		}
	}
	for i := 0; i < n; i = next[i] {
		f.c.Print(strings.Repeat(" ", f.indent))
		for j := i; j < next[i]; j++ {
			f.c.Print(f.words[j])
			if j < next[i]-1 {
				f.c.Print(strings.Repeat(" ", f.spaces[j]))
			}
		}
		f.c.Print("\n")
	}
	f.words, f.spaces = nil, nil
}
