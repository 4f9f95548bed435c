package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
)

var (
	// asksVariable matches code that asks for a variable which there may not be.
	asksVariable = regexp.MustCompile(`(?:\bgetenv\(|\benviron\.get\(|\benv\.get\()\s*["']([A-Za-z_]\w*)["']|\bprocess\.env(?:\.|\[["'])([A-Za-z_]\w*)`)
	asksInShell  = regexp.MustCompile(`\$\{([A-Za-z_]\w*):?[-=?+]`)
)

// maxAsked bounds the variables that are looked up.
const maxAsked = 1000

// everywhere are variables that each program has, or that each host has for itself.
var everywhere = []string{"HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER"}

// tellVariables says which of our variables a program asks for that it does not see.
func tellVariables(req runners.Request, sees func(name, value string) bool, warn io.Writer) {
	var names []string
	look := func(code string, l runners.Language) {
		asks := asksVariable
		if l == runners.Bash {
			asks = asksInShell
		}
		for _, m := range asks.FindAllStringSubmatch(code, maxAsked) {
			name := strings.Join(m[1:], "")
			if value := os.Getenv(name); value != "" && !sees(name, value) && !slices.Contains(everywhere, name) {
				names = append(names, name)
			}
		}
	}
	look(req.Code, req.Language)
	for _, f := range req.Files {
		if l := endingLanguage(f.Path); l != "" {
			look(string(f.Data), l)
		}
	}
	if slices.Sort(names); len(names) > 0 {
		list := strings.Join(slices.Compact(names), ",")
		fmt.Fprintf(warn, "coderunner: the program does not see the environment's %s (--allow-env=%[1]s)\n", list)
	}
}
