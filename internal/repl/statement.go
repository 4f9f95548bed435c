package repl

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"

	"coderunner/runners"
	"coderunner/runners/bash"
	"coderunner/runners/deno"
)

// inBlock reports whether an empty line is within a Python block, such as between the
// methods of a class: at a terminal, it would end it.
func (r *repl) inBlock(line string) bool {
	piped, ok := r.in.(*pipedLines)
	return ok && r.Language == runners.Python && strings.TrimSpace(line) == "" && piped.indented()
}

// endsBefore reports whether a Python block ends before a line that is not
// indented: at a terminal, an empty line would have to follow it.
func (r *repl) endsBefore(ctx context.Context, pending, line string) bool {
	if r.Language != runners.Python || strings.TrimSpace(line) == "" || strings.ContainsRune(" \t)]}", rune(line[0])) {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimRight(line, ": "), " ")
	for _, goes := range []string{"else", "elif", "except", "finally", "case"} {
		if strings.HasPrefix(word, goes) {
			return false
		}
	}
	return !r.incomplete(ctx, pending+"\n")
}

// codeop reports whether a text of Python is a whole statement.
const codeop = `import ast, codeop, sys, warnings
warnings.simplefilter("ignore")
compile = codeop.CommandCompiler()
compile.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
try:
    print("whole" if compile(sys.stdin.read(), "<stdin>", "single") else "incomplete")
except (SyntaxError, ValueError, OverflowError):
    print("wrong")
`

// wholeRuby reports the same of a text of Ruby.
const wholeRuby = `begin
  RubyVM::InstructionSequence.compile($stdin.read)
rescue SyntaxError => e
  puts "incomplete" if e.message.match?(/unexpected end-of-input|expected (a|an) .*(` + "`end`|`\\}`|`\\)`|`\\]`" + `)|unterminated/)
end
`

// wholePHP reports the same of a text of PHP, which eval compiles and leaves at once.
const wholePHP = `<?php
try {
    eval("return;" . stream_get_contents(STDIN));
} catch (ParseError $e) {
    echo preg_match("/unexpected end of file|^Unclosed '.'(?! does)/", $e->getMessage()) ? "incomplete" : "";
}
`

// opened returns a statement of PHP as the text of a file.
func opened(code string) string {
	if strings.HasPrefix(strings.TrimSpace(code), "<?") {
		return code
	}
	return "<?php " + code
}

// incomplete reports whether a statement goes on.
func (r *repl) incomplete(ctx context.Context, text string) bool {
	switch r.Language {
	case runners.Bash:
		return bash.Incomplete(text)
	case runners.SQL:
		text = strings.TrimSpace(text)
		return text != "" && !strings.HasPrefix(text, ".") && !strings.HasSuffix(text, ";")
	}
	code, ok := map[runners.Language]string{runners.Python: codeop, runners.Ruby: wholeRuby, runners.PHP: wholePHP}[r.Language]
	if !ok {
		return deno.Incomplete(text)
	}
	out, err := r.Runner.Run(ctx, runners.Request{Language: r.Language, Code: code, Stdin: strings.NewReader(strings.TrimSuffix(text, "\n")), Limits: r.Limits})
	return err == nil && strings.HasPrefix(out.Stdout, "incomplete")
}

// exits reports whether a statement ends the REPL, and its exit code.
func exits(code string) (status int, ok bool) {
	m := regexp.MustCompile(`^(?:(?:sys\.|process\.|Deno\.)?(?:exit|quit)(?:\((\d*)\)|\s+(\d+))?|\.exit);?$`).FindStringSubmatch(strings.TrimSpace(code))
	if m != nil {
		status, _ = strconv.Atoi(m[1] + m[2])
	}
	return status & 0xff, m != nil
}

// readsKeys reports whether JavaScript may read its standard input. The Deno process of
// any other would take what is typed ahead for the next statement.
func readsKeys(code string) bool {
	return regexp.MustCompile(`\b(?:prompt|confirm|alert|stdin|readline)\b`).MatchString(code)
}

// isObject reports whether a REPL reads JavaScript as an object, not as a block.
func isObject(code string) bool {
	return regexp.MustCompile(`(?s)^\s*\{\s*(?:\}|\.\.\.|(?:\[[^\]\n]*\]|[\w$]+|"[^"\n]*"|'[^'\n]*')\s*:|[\w$]+\s*[,}])(?:.*\})?\s*$`).MatchString(code)
}

// pipedLines reads lines that nobody types.
type pipedLines struct{ r *bufio.Reader }

func (l *pipedLines) line(bool) (string, error) {
	line, err := l.r.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// indented reports whether the next line that is not empty is, as far as it is there.
func (l *pipedLines) indented() bool {
	next, _ := l.r.Peek(l.r.Buffered())
	next = bytes.TrimLeft(next, "\r\n")
	return len(next) > 0 && strings.ContainsRune(" \t", rune(next[0]))
}

func (l *pipedLines) pasting() bool               { return false }
func (l *pipedLines) during() (io.Reader, func()) { return nil, func() {} }
func (l *pipedLines) colours() bool               { return false }
func (l *pipedLines) Close() error                { return nil }
