package requirement

import (
	"errors"
	"fmt"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/runners/python/wheel"
)

// Environment has the values of a marker's variables, by their names of PEP 508.
type Environment map[string]string

// Environ returns the environment of a CPython, such as 3.14.2, built by an
// Emscripten, such as 5.0.3.
func Environ(python, emscripten string) Environment {
	major, rest, _ := strings.Cut(python, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return Environment{
		"python_version": major + "." + minor, "python_full_version": python, "implementation_version": python,
		"implementation_name": "cpython", "platform_python_implementation": "CPython", "os_name": "posix",
		"sys_platform": "emscripten", "platform_system": "Emscripten", "platform_machine": "wasm32", "platform_release": emscripten, "platform_version": "#1",
	}
}

// maxMarkerDepth bounds the parentheses of a marker.
const maxMarkerDepth = 100

var errMarker = errors.New("what follows the semicolon is not a marker")

// Applies reports whether the requirement's marker is true where one of the extras
// is asked for; "" is none. The error is about the marker.
func (r Requirement) Applies(env Environment, extras ...string) (bool, error) {
	if r.Marker == "" {
		return true, nil
	}
	words := markerWord.FindAllString(r.Marker, -1)
	if strings.TrimSpace(markerWord.ReplaceAllString(r.Marker, "")) != "" {
		return false, errMarker
	}
	holds := false
	for _, extra := range extras {
		e := markerEval{words: words, env: env, extra: extra}
		one, err := e.either(0)
		if err == nil && len(e.words) > 0 {
			err = errMarker
		}
		if err != nil {
			return false, err
		}
		holds = holds || one
	}
	return holds, nil
}

var markerWord = lazyregexp.New(`[()]|"[^"]*"|'[^']*'|===|[=!<>~]=|[<>]|[A-Za-z_][A-Za-z_.]*`)

// markerEval evaluates words by PEP 508's grammar.
type markerEval struct {
	words []string
	env   Environment
	extra string
}

func (e *markerEval) next() string {
	if len(e.words) == 0 {
		return ""
	}
	word := e.words[0]
	e.words = e.words[1:]
	return word
}

func (e *markerEval) skip(word string) bool {
	if len(e.words) == 0 || e.words[0] != word {
		return false
	}
	e.words = e.words[1:]
	return true
}

// either evaluates terms with "or" between them, all of which are looked at.
func (e *markerEval) either(depth int) (bool, error) {
	value, err := e.both(depth)
	for err == nil && e.skip("or") {
		var next bool
		next, err = e.both(depth)
		value = value || next
	}
	return value, err
}

func (e *markerEval) both(depth int) (bool, error) {
	value, err := e.term(depth)
	for err == nil && e.skip("and") {
		var next bool
		next, err = e.term(depth)
		value = value && next
	}
	return value, err
}

func (e *markerEval) term(depth int) (bool, error) {
	if e.skip("(") {
		if depth >= maxMarkerDepth {
			return false, errors.New("its marker is nested too deep")
		}
		value, err := e.either(depth + 1)
		if err == nil && !e.skip(")") {
			err = errMarker
		}
		return value, err
	}
	left, op := e.next(), e.next()
	if op == "not" {
		if !e.skip("in") {
			return false, errMarker
		}
		op = "not in"
	}
	right := e.next()
	l, variable, err := e.value(left)
	if err != nil {
		return false, err
	}
	r, other, err := e.value(right)
	if err != nil {
		return false, err
	}
	if variable == "extra" || other == "extra" {
		l, r = wheel.Normalize(l), wheel.Normalize(r)
	}
	return compareMarker(l, op, r)
}

// value returns the value of a word, and its name if it is a variable.
func (e *markerEval) value(word string) (value, name string, err error) {
	if len(word) > 1 && (word[0] == '"' || word[0] == '\'') {
		return word[1 : len(word)-1], "", nil
	}
	name = strings.ReplaceAll(word, ".", "_") // os.name, of PEP 345
	if name == "extra" {
		return e.extra, name, nil
	}
	value, ok := e.env[name]
	if !ok {
		return "", "", fmt.Errorf("%.100q is no variable of markers", word)
	}
	return value, name, nil
}

// compareMarker compares as versions what is a version and a specifier, else as text.
func compareMarker(l, op, r string) (bool, error) {
	c, err := parseSpecifier(op, r)
	if v, err2 := ParseVersion(l); err == nil && err2 == nil {
		return c.contains(v), nil
	}
	switch op {
	case "in":
		return strings.Contains(r, l), nil
	case "not in":
		return !strings.Contains(r, l), nil
	case "==", "===":
		return l == r, nil
	case "!=":
		return l != r, nil
	case "<=", ">=":
		return l == r, nil // text has no order
	case "<", ">":
		return false, nil
	}
	return false, errMarker
}
