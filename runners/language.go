package runners

import (
	"slices"
	"strings"

	"coderunner/internal/lazyregexp"
)

// Language names a language as the tool's argument does.
type Language string

// The languages.
const (
	Python     Language = "python"
	JavaScript Language = "javascript"
	TypeScript Language = "typescript"
	JSX        Language = "jsx" // JavaScript with tags
	TSX        Language = "tsx" // TypeScript with tags
	Bash       Language = "bash"
)

// Languages are the languages that every server has.
var Languages = []Language{Python, JavaScript, TypeScript, JSX, TSX, Bash}

// The languages of the host, see runners/host.
const (
	AWK  Language = "awk"
	Lua  Language = "lua"
	Perl Language = "perl"
	PHP  Language = "php"
	Ruby Language = "ruby"
	Tcl  Language = "tcl"
)

// HostLanguages are all languages of the host.
var HostLanguages = []Language{AWK, Lua, Perl, PHP, Ruby, Tcl}

// Languages of runners/wasi that are not ones of the host.
const (
	C       Language = "c"
	CPP     Language = "cpp"
	QuickJS Language = "quickjs"
	SQL     Language = "sql"
	WASM    Language = "wasm" // a module, in base64
)

// GuestLanguages are the languages of runners/wasi. One that the host has, too, is the
// host's where that is configured.
var GuestLanguages = []Language{C, CPP, Ruby, PHP, Perl, QuickJS, SQL, WASM}

// aliases are other names of the languages: what people type, what shebangs and
// Markdown fences name, and the endings of files.
var aliases = map[string]Language{
	"py": Python, "python3": Python, "python2": Python, "pyw": Python, "cpython": Python, "ipython": Python, "pyodide": Python,
	"js": JavaScript, "mjs": JavaScript, "cjs": JavaScript, "node": JavaScript, "nodejs": JavaScript, "ecmascript": JavaScript,
	"ts": TypeScript, "mts": TypeScript, "cts": TypeScript, "deno": TypeScript, "bun": TypeScript, "tsx-node": TypeScript, "ts-node": TypeScript,
	"sh": Bash, "shell": Bash, "shellscript": Bash, "dash": Bash, "ash": Bash,
	"pl": Perl, "rb": Ruby, "tclsh": Tcl, "gawk": AWK, "luajit": Lua,
	"c++": CPP, "cxx": CPP, "cc": CPP, "hpp": CPP, "g++": CPP, "clang++": CPP, "gcc": C, "clang": C,
	"qjs": QuickJS, "sqlite": SQL, "sqlite3": SQL, "irb": Ruby, "php-cgi": PHP, "phtml": PHP, "webassembly": WASM, "wasi": WASM,
}

// ParseLanguage returns the language of a name or an alias, in any case, or "".
func ParseLanguage(name string) Language {
	name = strings.ToLower(strings.TrimSpace(name))
	if l := Language(name); slices.Contains(Languages, l) || slices.Contains(HostLanguages, l) || slices.Contains(GuestLanguages, l) {
		return l
	}
	if l := aliases[name]; l != "" {
		return l
	}
	if base := strings.TrimRight(name, "0123456789."); base != name { // python3.14
		return ParseLanguage(base)
	}
	return ""
}

// sure is how much more evidence there must be for one family of languages than
// for the other.
const sure = 2

// evidence is a sign of a language: each line that has it, up to three, counts
// its weight. The measured precision is in language_test.go.
type evidence struct {
	weight  int
	pattern *lazyregexp.Regexp
}

// sign returns evidence whose expression is matched to each line.
func sign(weight int, expr string) evidence {
	return evidence{weight, lazyregexp.New("(?m)" + expr)}
}

// The signs of each family. Strings are empty when they are looked for.
var (
	pythonSigns = []evidence{
		sign(3, `^\s*(async\s+)?def\s+\w+\s*(\[.*\])?\(`),
		sign(3, `^\s*class\s+\w+(\[.*\])?(\(.*\))?:`),
		sign(3, `^\s*from\s+[\w.]+\s+import\s+[\w(*]`),
		sign(3, `^\s*import\s+[a-zA-Z_][\w.]*(\s+as\s+\w+)?(\s*,\s*[\w.]+(\s+as\s+\w+)?)*\s*(;|#|$)`),
		sign(3, `^\s*(if|elif|while|for|with|except|try|else|finally)\b[^{;]*:\s*(#.*)?$`),
		sign(3, `^\s*(for\s+[\w, ()]+\s+in\s+[^{;]+|if\s+[^{;(]+|while\s+[^{;(]+):\s*\S`),
		sign(2, `^\s*elif\b`),
		sign(2, `^\s*(raise|except|pass|nonlocal|global|del|assert|yield from)\b[^{;(]*$`),
		sign(2, `^\s*print\s*\(`),
		sign(2, `\bself\.\w`),
		sign(2, `\blambda\b[^:{;]*:`),
		sign(2, `[\[({][^\[\](){};]* for [\w, ]+ in `),
		sign(2, `\b(and|or)\s+not\b|\bnot\s+in\b|\bis\s+not\b|\w\s+(and|or)\s+\w[^;]*:?$`),
		sign(2, `\b[rRuU]?[fF](""|'')`), // an f-string
		sign(2, `^\s*[%!](pip|matplotlib|load_ext|timeit|time)\b`),
		sign(1, `\b(None|True|False)\b`),
		sign(1, `\b(len|range|str|int|sorted|enumerate|isinstance|dict|list|zip|sum|input|open|repr)\(`),
		sign(1, `^\s*#\s`),
		sign(1, `^[a-z_]\w*(\s*:\s*[\w\[\], .|]+)?\s*=\s*[^=;]*[^;{,]$`),
		sign(1, `\w\*\*\w|\w\s*//\s*\w|\[-?\d*:-?\d*\]`),
	}
	scriptSigns = []evidence{
		sign(3, `^\s*(export\s+)?(declare\s+)?(const|let|var)\s+[\w$\[{]`),
		sign(3, `=>`),
		sign(3, `\bfunction\b\s*\*?\s*[\w$]*\s*(<.*>)?\(`),
		sign(3, `^\s*import\s*(type\s+)?([\w$]+\s*(,|from\b)|[*{'"(])`),
		sign(3, `^\s*export\s+(default|const|let|function|class|async|type|interface|enum|abstract|\{|\*)`),
		sign(3, `===|!==`),
		sign(3, `^\s*\}?\s*(else\s+if|if|for|while|switch|catch)\s*\(.*\)\s*(\{|$|[^:]*;\s*$)`),
		sign(3, `^\s*\}\s*(else|catch|finally|while)\b`),
		sign(3, `\bconsole\.\w+\(|\bDeno\.\w|\bprocess\.(argv|env|exit|exitCode|nextTick|stdout|stdin)\b|\bmodule\.exports\b|\brequire\(`),
		sign(2, `\bnew\s+[A-Z]\w*[(<]|\bthis\.\w|\btypeof\s`),
		sign(2, `^\s*(//|/\*)`),
		sign(2, `&&|\|\||\?\?|\?\.[\w\[(]|\+\+|--;`),
		sign(2, `^\s*(async\s+)?(static\s+)?[\w$]+\s*\([^()]*\)\s*(:\s*[^={]+)?\{\s*$`),
		sign(2, `^\s*(class\s+\w+.*|try|do|finally|else)\s*\{`),
		sign(1, `[^\s:];\s*(//.*)?$`),
		sign(1, "\\b(null|undefined|true|false)\\b|`"),
		sign(1, `\.(forEach|length|toString|push|map|filter|reduce|toUpperCase|indexOf|includes)\b`),
	}
	typeSigns = []evidence{ // of TypeScript, in what is a script
		sign(2, `[\w)?\]]\s*:\s*(readonly\s+)?(string|number|boolean|unknown|any|void|never|bigint|object)\b`),
		sign(2, `^\s*(export\s+)?(default\s+)?(declare\s+)?(interface|type|enum|const\s+enum|namespace|module|abstract\s+class)\s+\w+.*[{=]`),
		sign(2, `\bas\s+(const|string|number|unknown|any|never|[A-Z]\w*)\b|\bsatisfies\s+\w|\bimport\s+type\b|\{\s*type\s+\w`),
		sign(2, `\)\s*:\s*[A-Z][\w.]*(<[^()]*>)?(\[\])*\s*(\{|=>)|\b(const|let)\s+\w+\s*:\s*[A-Z{\[]|\bimplements\s+[A-Z]`),
		sign(2, `^\s*(private|public|protected|readonly|static readonly|override|abstract)\s+[\w#]`),
		sign(2, `\b[a-zA-Z]\w*<(string|number|[A-Z]\w*)(\[\])?(,\s*[\w<>\[\]]+)*>\s*[(>]|[\w)\]]!\.\w`),
		sign(2, `\(\s*\w+\??\s*:\s*[A-Za-z{\[(]`),
	}
	shellSigns = []evidence{
		sign(3, `^\s*(if|while|until|for)\b.*;\s*(then|do)\b|^\s*(then|do|done|fi|esac)\s*(;|$)`),
		sign(3, `^\s*set\s+[-+][euxo]+\b|^\s*shopt\s+-|^\s*(local|declare|readonly|export)\s+(-\w+\s+)?\w+=`),
		sign(3, `\|\s*(grep|awk|sed|sort|head|tail|wc|xargs|cut|tr|uniq|jq|tee|while read|bash|sh)\b`),
		sign(3, `<<-?\s*(EOF|END|EOT)\b|<<-?\s*['"]{2}`),
		sign(3, `^\s*(echo|cd|ls|grep|mkdir|cat|rm|cp|mv|curl|wget|chmod|touch|find|sed|awk|printf|head|tail|tar|seq|sleep|pwd)(\s+[^=(\s.,:]|\s*$)`),
		sign(2, `\$\{?[A-Za-z_#@*?!0-9]|\$\(`),
		sign(2, `^\s*(if|elif|while)?\s*\[\[?\s.*\s\]\]?`),
		sign(2, `^\s*[A-Za-z_]\w*=([$"'\w./-]|\()`),
		sign(2, `^\s*(function\s+)?[\w-]+\s*\(\)\s*\{?\s*$`),
		sign(2, `\s(&&|\|\|)\s+(echo|exit|return|cd|rm|mkdir)\b|\s2?>&[12]\b|[12]?>\s*/dev/null`),
	}
	cppSigns = []evidence{ // in what is C
		sign(1, `^\s*#\s*include\s*<[a-z_]+>|\bstd::|^\s*using\s+namespace\b|^\s*template\s*<|^\s*(class|namespace)\s+\w+.*\{|\bconstexpr\b|\bauto\s+\w+\s*=`),
	}
	tagSigns = []evidence{sign(1, `</([A-Za-z][\w.]*)?>|<[A-Za-z][\w.]*(\s[^<>]*)?/>`)} // of JSX
)

var (
	shebang   = lazyregexp.New(`^#!\s*(?:\S*/)?(?:env(?:\s+-\S+)*\s+(?:\S*/)?)?([\w.-]+)`)
	directive = lazyregexp.New(`^(?:\s|//[^\n]*\n|(?s:/\*.*?\*/))*(?:#\s*(?:include|define|pragma|if|undef)\b|(?:int|void)\s+main\s*\()`)
	cSign     = lazyregexp.New(`(?m)^\s*#\s*include\s*[<"]|^\s*(?:int|void)\s+main\s*\(`)
	literals  = lazyregexp.New(`(?s)""".*?"""|'''.*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|` + "`(?:[^`\\\\]|\\\\.)*`")
)

// Detect returns the language that the text of a program shows, or "" where
// that is not clear.
func Detect(code string) Language {
	code = beginning(code)
	if m := shebang.FindStringSubmatch(code); m != nil {
		if l := ParseLanguage(m[1]); l != "" {
			return l
		}
	}
	if strings.HasPrefix(strings.TrimSpace(code), "<?php") {
		return PHP
	}
	text := withoutLiterals(code)
	if directive.MatchString(code) && cSign.MatchString(code) {
		if weigh(text, cppSigns) > 0 {
			return CPP
		}
		return C
	}
	python, script := weigh(text, pythonSigns), weigh(text, scriptSigns)
	if shell := weigh(text, shellSigns); shell > sure && shell >= max(python, script)+sure {
		return Bash
	}
	if python >= script+sure {
		return Python
	}
	if script < python+sure {
		return ""
	}
	typed, tags := weigh(text, typeSigns) > 0, weigh(text, tagSigns) > 0
	switch {
	case typed && tags:
		return TSX
	case typed:
		return TypeScript
	case tags:
		return JSX
	}
	return JavaScript
}

// LooksTyped reports whether Detect returns TypeScript or TSX. Of most programs that are not,
// it looks for the fewest signs.
func LooksTyped(code string) bool {
	text := withoutLiterals(beginning(code))
	if !strings.HasPrefix(code, "#!") && weigh(text, typeSigns) == 0 {
		return false
	}
	l := Detect(code)
	return l == TypeScript || l == TSX
}

// beginning returns as much of a program as is enough to tell, without fences of Markdown.
func beginning(code string) string {
	return strings.ReplaceAll(code[:min(len(code), 16<<10)], "```", "")
}

// withoutLiterals returns the text with nothing but lines in its strings.
func withoutLiterals(code string) string {
	return literals.ReplaceAllStringFunc(code, func(s string) string {
		return s[:1] + strings.Repeat("\n", strings.Count(s, "\n")) + s[:1]
	})
}

// weigh returns how much evidence the text has.
func weigh(text string, signs []evidence) (sum int) {
	for _, s := range signs {
		sum += s.weight * len(s.pattern.FindAllStringIndex(text, 3))
	}
	return sum
}
