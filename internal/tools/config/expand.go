package config

import (
	"fmt"
	"os"
	"strings"
)

func unset(variable string) error {
	return fmt.Errorf("the variable %s is not set", variable)
}

// expander replaces the variables of the environment in the texts of a file: ${VAR},
// ${VAR:-default}, and what clients write, ${env:VAR} and {env:VAR}.
type expander struct {
	bare bool              // $VAR is one, too
	used map[string]string // variables, with their values
	err  error             // of one that is not set
}

// expanded returns a value of a file with its variables replaced.
func (e *expander) expanded(value any) any {
	switch v := value.(type) {
	case string:
		return e.expand(v)
	case []any:
		for i := range v {
			v[i] = e.expanded(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = e.expanded(v[name])
		}
	}
	return value
}

func (e *expander) expand(text string) string {
	var b strings.Builder
	for e.err == nil {
		at := strings.IndexAny(text, "${")
		if at < 0 {
			break
		}
		b.WriteString(text[:at])
		text = text[at:]
		variable, rest, ok := reference(text, e.bare)
		if !ok {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		name, otherwise, has := strings.Cut(strings.TrimPrefix(variable, "env:"), ":-")
		value, set := os.LookupEnv(name)
		switch {
		case strings.HasPrefix(name, "input:"):
			e.err = fmt.Errorf("the client asks its user for ${%s}; write ${VARIABLE} instead, in a file for --tools", name)
		case set && (value != "" || !has):
			e.used[name] = value
		case has:
			value = otherwise
		default:
			e.err = unset(name)
		}
		b.WriteString(value)
		text = rest
	}
	return b.String() + text
}

// reference returns the variable that a text begins with, and what follows.
func reference(text string, bare bool) (variable, rest string, ok bool) {
	for _, begin := range []string{"${", "{env:"} {
		if after, found := strings.CutPrefix(text, begin); found {
			variable, rest, ok = strings.Cut(after, "}")
			return variable, rest, ok && variable != ""
		}
	}
	if !bare || text[0] != '$' {
		return "", "", false
	}
	n := 1
	for n < len(text) && (text[n] == '_' || text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z' || n > 1 && text[n] >= '0' && text[n] <= '9') {
		n++
	}
	return text[1:n], text[n:], n > 1
}
