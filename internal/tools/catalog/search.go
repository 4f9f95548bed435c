package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"coderunner/internal/order"
	"coderunner/runners"
)

// maxFound and maxWords bound a search.
const (
	maxFound = 20
	maxWords = 20
)

func sortedNames(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// Search returns the tools that have most of the words, the best first: a word of the name
// counts more than one of the description, and a whole one more than a beginning.
func Search(tools []runners.Tool, words string) []runners.Tool {
	wanted := slices.DeleteFunc(split(runners.Clip(words, 1000)), func(w string) bool { return len(w) < 2 })
	wanted = wanted[:min(len(wanted), maxWords)]
	type hit struct {
		runners.Tool
		score int
	}
	var hits []hit
	for _, t := range tools {
		server, name, text := split(t.Server), split(t.Native), split(t.Description)
		score := 0
		for _, word := range wanted {
			if best := max(12*match(name, word), 6*match(server, word), 2*match(text, word)); best > 0 {
				score += 20 + best
			}
		}
		if score > 0 {
			hits = append(hits, hit{t, score})
		}
	}
	order.Stably(hits, func(a, b hit) int {
		return cmp.Or(b.score-a.score, len(a.Name)-len(b.Name), strings.Compare(a.Server+"."+a.Name, b.Server+"."+b.Name))
	})
	var found []runners.Tool
	for _, h := range hits[:min(len(hits), maxFound)] {
		found = append(found, h.Tool)
	}
	return found
}

// match returns 2 for a word of a text, 1 for the beginning of one or one with an ending
// more, 0 for none.
func match(text []string, word string) (best int) {
	for _, t := range text {
		switch {
		case t == word:
			return 2
		case len(word) > 2 && strings.HasPrefix(t, word) || len(t) > 3 && strings.HasPrefix(word, t):
			best = 1
		}
	}
	return best
}

// split returns the words of a text or a name in lower case: at what is no letter or digit,
// and before a capital behind a small letter.
func split(text string) []string {
	var words []string
	begin, last := -1, rune(0)
	for i, r := range text {
		inside := unicode.IsLetter(r) || unicode.IsDigit(r)
		if begin >= 0 && (!inside || unicode.IsUpper(r) && unicode.IsLower(last)) {
			words, begin = append(words, strings.ToLower(text[begin:i])), -1
		}
		if inside && begin < 0 {
			begin = i
		}
		last = r
	}
	if begin >= 0 {
		words = append(words, strings.ToLower(text[begin:]))
	}
	return words
}
