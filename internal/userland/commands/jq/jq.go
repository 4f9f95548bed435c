// Package jq is the command jq, on gojq, within the limits of its process.
package jq

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"coderunner/internal/userland/commands/command"
)

// Main runs a filter over JSON, by the library gojq.
func Main(c *command.Call) int {
	order := newOrder(c)
	args, named, positional := arguments(c, order)
	c.Args = args
	o := c.Parse("c,compact-output r,raw-output j,join-output R,raw-input n,null-input s,slurp e,exit-status S,sort-keys C,color-output M,monochrome-output a,ascii-output f,from-file= tab indent= raw-output0 seq stream h unbuffered L,library-path=")
	source, names := "", o.Args
	if name := o.Value("f", ""); name != "" {
		data, err := c.ReadFile(name)
		if err != nil {
			return c.Die(2, "error: Could not open %s: %s", name, command.Text(err))
		}
		source = string(data)
	} else {
		if len(names) == 0 {
			c.Warnf("Usage:\tjq [OPTIONS] FILTER [FILES...]\n")
			return 2
		}
		source, names = names[0], names[1:]
	}
	var keys []string
	var values []any
	for k, v := range named {
		keys, values = append(keys, "$"+k), append(values, v)
	}
	keys, values = append(keys, "$ARGS", "$__prog_args"), append(values, map[string]any{"named": named, "positional": positional}, nil)
	env := func() []string { return c.Process.Env }
	j := &run{c: c, o: o, indent: "  ", order: order, limits: newLimits(c, order)}
	input := &input{j: j, names: names}
	j.in = input
	query, err := parse(located(source))
	if err != nil {
		c.Errorf("error: %s\njq: 1 compile error", mistaken(source, err))
		return 3
	}
	if err := j.order.rewrite(query); err != nil {
		return c.Die(3, "%s", err)
	}
	options := slices.Concat(j.functions(), j.limits.operators(), []gojq.CompilerOption{gojq.WithVariables(keys), gojq.WithEnvironLoader(env), gojq.WithInputIter(input), gojq.WithModuleLoader(&modules{j, libraries(o)})})
	code, err := gojq.Compile(query, options...)
	if err != nil {
		c.Errorf("error: %s\njq: 1 compile error", mistaken(source, err))
		return 3
	}
	switch n, ok := command.Atoi(o.Value("indent", "2")); {
	case !ok || n < 0 || n > 7:
		return c.Die(2, "Cannot indent more than 7 characters")
	case o.On("c"):
		j.indent = ""
	case o.On("tab"):
		j.indent = "\t"
	default:
		j.indent = strings.Repeat(" ", n)
	}
	j.code, j.values = code, values
	return j.run(input)
}

// arguments takes out the options that have two arguments, or all the rest.
func arguments(c *command.Call, order *order) (args []string, named map[string]any, positional []any) {
	named, positional = map[string]any{}, []any{}
	rest := c.Args
	mode, filter := "", false
	for len(rest) > 0 {
		a := rest[0]
		rest = rest[1:]
		switch a {
		case "--args", "--jsonargs":
			mode = a
			continue
		case "--arg", "--argjson", "--slurpfile", "--rawfile":
			if len(rest) < 2 {
				c.Exit(2, "%s takes two parameters (e.g. %s varname value)", a, a)
			}
			name, value := rest[0], rest[1]
			rest = rest[2:]
			var v any = value
			var err error
			switch a {
			case "--argjson":
				if v, err = decodeJSON([]byte(value), order); err != nil {
					c.Exit(2, "Invalid JSON text passed to --argjson")
				}
			case "--slurpfile", "--rawfile":
				var data []byte
				if data, err = c.ReadFile(value); err == nil && a == "--slurpfile" {
					v, err = slurpJSON(data, order)
				} else {
					v = string(data)
				}
				if err != nil {
					c.Exit(2, "Bad JSON in --%s %s %s: %s", a[2:], name, value, command.Text(err))
				}
			}
			named[name] = v
			order.see(inFilter, name)
			continue
		}
		if mode != "" && filter && !strings.HasPrefix(a, "-") {
			var v any = a
			if mode == "--jsonargs" {
				var err error
				if v, err = decodeJSON([]byte(a), order); err != nil {
					c.Exit(2, "Invalid JSON text passed to --jsonargs")
				}
			}
			positional = append(positional, v)
			continue
		}
		filter = filter || !strings.HasPrefix(a, "-")
		args = append(args, a)
	}
	return args, named, positional
}

// run is a running filter.
type run struct {
	c      *command.Call
	o      *command.Options
	code   *gojq.Code
	values []any
	indent string
	order  *order
	limits *limits
	in     *input
	last   any
	any    bool
	status int
}

func (j *run) run(in *input) int {
	c, o := j.c, j.o
	switch {
	case o.On("n"):
		j.filter(nil)
	case o.On("s") && o.On("R"):
		data, err := c.ReadAll(c.Concat(in.names))
		if err != nil {
			return c.Die(2, "%s", command.Text(err))
		}
		in.count = bytes.Count(data, []byte("\n"))
		j.filter(string(data))
	case o.On("s"):
		list := []any{}
		for {
			v, ok := in.Next()
			if !ok {
				break
			}
			if err, bad := v.(error); bad {
				return c.Die(5, "%s", err)
			}
			list = append(list, v)
		}
		j.filter(list)
	default:
		for !c.Stopped() {
			v, ok := in.Next()
			if !ok {
				break
			}
			if err, bad := v.(error); bad {
				return c.Die(5, "%s", err)
			}
			if !j.filter(v) {
				return j.status
			}
		}
	}
	switch {
	case j.status != 0:
		return j.status
	case c.Status != 0:
		return 2
	case !o.On("e"):
		return 0
	case !j.any:
		return 4
	case j.last == nil || j.last == false:
		return 1
	}
	return 0
}

// filter runs the filter on one value and reports whether to go on.
func (j *run) filter(v any) bool {
	iter := j.limits.run(j.code, v, j.values)
	for {
		out, ok := iter.Next()
		if !ok {
			return true
		}
		if err := j.limits.failed; err != nil {
			j.c.Errorf("error (at %s): %s", j.in.at(), err)
			j.status = 5
			return false
		}
		if err, bad := out.(error); bad {
			var halt *gojq.HaltError
			switch {
			case errors.As(err, &halt):
				if s, ok := halt.Value().(string); ok {
					j.c.Warnf("%s", s)
				} else if halt.Value() != nil {
					j.c.Warnf("%s\n", j.text(halt.Value()))
				}
				j.status = halt.ExitCode()
				return false
			case j.c.Ctx.Err() != nil:
				return false
			}
			var raised gojq.ValueError
			if errors.As(err, &raised) {
				if _, ok := raised.Value().(string); !ok && raised.Value() != nil {
					j.c.Errorf("error (at %s) (not a string): %s", j.in.at(), j.text(raised.Value()))
					j.status = 5
					return true
				}
			}
			j.c.Errorf("error (at %s): %s", j.in.at(), words(err))
			j.status = 5
			return true
		}
		j.last, j.any = out, true
		j.print(out)
		if j.c.Stopped() {
			return false
		}
	}
}
