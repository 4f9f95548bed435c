package main

import (
	"regexp"
	"strings"
)

// Names of files in a bash script are seldom quoted: each word may be one. What
// follows the first slash counts where an expansion precedes it ("$DIR"/lib.sh).
var (
	shellWord    = regexp.MustCompile(`\$?[\pL\pN_./@+-]{1,255}`)
	shellPattern = regexp.MustCompile(`[\pL\pN_./@+*?\[\]!^$-]*[*?\[][\pL\pN_./@+*?\[\]!^$-]*`)
	shellPrefix  = regexp.MustCompile(`(\$?[\pL\pN_.][\pL\pN_./-]{0,255})/["']?\$`)
	shellComment = regexp.MustCompile(`(?m)(?:^|\s)#.*$`)
	// foundNames matches the options whose patterns find and grep look for in all directories.
	foundNames = regexp.MustCompile(`(?:-i?name\s+|--include[=\s])["']?([^"'\s;|)]+)`)
	// shellLists matches commands that list a directory, or all below it.
	shellLists = regexp.MustCompile(`\b(?:ls|find|du|tree|tar|zip|rsync|diff|cp|mv)\s|\bgrep\s+(?:-\S+\s+)*-\w*[rR]|\bfor\s+\w+\s+in\b`)
	// shellListsHere matches commands that list the current directory.
	shellListsHere = regexp.MustCompile(`(?m)\b(?:ls|du|tree)(?:\s+-\S+)*\s*(?:\s\./?\s*)?(?:$|[|;&>)])|\bfind\s+(?:-|\./?\s|\$PWD|"\$PWD")|\bfor\s+\w+\s+in\s+(?:\./)?\*\s*(?:;|$)|\bgrep\s.*-\w*[rR].*\s\./?\s*(?:$|[|;&>)])`)
	goesAway       = regexp.MustCompile(`(?m)(?:^|[\s;&|(])(?:cd|pushd)\s`)
)

// shellWords returns the words of a bash script that may name files, and the
// patterns outside of strings, and of find and grep, that have more than wildcards.
func shellWords(code string) (words, patterns []string) {
	for _, word := range shellWord.FindAllString(code, maxLookups) {
		words = append(words, bare(word))
	}
	for _, pattern := range shellPattern.FindAllString(literal.ReplaceAllString(code, ""), maxPatterns) {
		pattern = bare(pattern)
		if isPattern(pattern) {
			patterns = append(patterns, pattern)
		}
	}
	for _, m := range foundNames.FindAllStringSubmatch(code, maxPatterns) {
		if isPattern(m[1]) {
			patterns = append(patterns, "**/"+m[1])
		}
	}
	return words, patterns
}

// shellDirectories returns the words of a bash script that are no comment, if it lists
// directories, and else those with a name that it puts together (conf/$1.yml).
func shellDirectories(code string) (words map[string]bool, lists bool) {
	code = shellComment.ReplaceAllString(code, "")
	words, lists = map[string]bool{}, shellLists.MatchString(code)
	for _, m := range shellPrefix.FindAllStringSubmatch(code, maxLookups) {
		words[bare(m[1])], words[bare(m[1])+"/"] = true, true
	}
	for _, word := range shellWord.FindAllString(code, maxLookups) {
		words[bare(word)] = lists || words[bare(word)]
	}
	return words, lists
}

// bare returns what may be a path in a word.
func bare(word string) string {
	if at := strings.LastIndexByte(word, '$'); at >= 0 {
		_, word, _ = strings.Cut(word[at:], "/")
	}
	return strings.TrimRight(strings.TrimLeft(word, "-+@/"), ".")
}
