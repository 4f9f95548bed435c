package commands

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// jq runs a filter over JSON, by the library gojq.
func jq(c *call) int {
	args, named, positional, status := jqArguments(c)
	if status >= 0 {
		return status
	}
	c.args = args
	o, status := c.options("c,compact-output r,raw-output j,join-output R,raw-input n,null-input s,slurp e,exit-status S,sort-keys C,color-output M,monochrome-output a,ascii-output f,from-file= tab indent= raw-output0 seq stream h unbuffered")
	if o == nil {
		return status
	}
	if o.on("stream") || o.on("seq") {
		return c.die(2, "the options --stream and --seq are not available in this sandbox")
	}
	source, names := "", o.args
	if name := o.value("f", ""); name != "" {
		data, err := c.readFile(name)
		if err != nil {
			return c.die(2, "error: Could not open %s: %s", name, text(err))
		}
		source = string(data)
	} else {
		if len(names) == 0 {
			c.warnf("Usage:\tjq [OPTIONS] FILTER [FILES...]\n")
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
	env := func() []string { return c.p.Env }
	j := &jqRun{c: c, o: o, indent: "  ", order: jqOrder{map[string][]string{}, map[string]int{}}}
	input := &jqInput{j: j, names: names}
	query, err := gojq.Parse(source)
	if err != nil {
		c.errorf("error: %s\njq: 1 compile error", err)
		return 3
	}
	if err := j.order.rewrite(query); err != nil {
		return c.die(3, "%s", err)
	}
	code, err := gojq.Compile(query, gojq.WithVariables(keys), gojq.WithFunction("_keys", 0, 0, j.order.keys), gojq.WithEnvironLoader(env), gojq.WithInputIter(input))
	if err != nil {
		c.errorf("error: %s\njq: 1 compile error", err)
		return 3
	}
	switch n, ok := atoi(o.value("indent", "2")); {
	case !ok || n < 0 || n > 7:
		return c.die(2, "Cannot indent more than 7 characters")
	case o.on("c"):
		j.indent = ""
	case o.on("tab"):
		j.indent = "\t"
	default:
		j.indent = strings.Repeat(" ", n)
	}
	j.code, j.values = code, values
	return j.run(input)
}

// jqArguments takes out the options that have two arguments, or all the rest.
func jqArguments(c *call) (args []string, named map[string]any, positional []any, status int) {
	named, positional = map[string]any{}, []any{}
	rest := c.args
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
				return nil, nil, nil, c.die(2, "%s takes two parameters (e.g. %s varname value)", a, a)
			}
			name, value := rest[0], rest[1]
			rest = rest[2:]
			var v any = value
			var err error
			switch a {
			case "--argjson":
				if v, err = decodeJSON([]byte(value)); err != nil {
					return nil, nil, nil, c.die(2, "Invalid JSON text passed to --argjson")
				}
			case "--slurpfile", "--rawfile":
				var data []byte
				if data, err = c.readFile(value); err == nil && a == "--slurpfile" {
					v, err = slurpJSON(data)
				} else {
					v = string(data)
				}
				if err != nil {
					return nil, nil, nil, c.die(2, "Bad JSON in --%s %s %s: %s", a[2:], name, value, text(err))
				}
			}
			named[name] = v
			continue
		}
		if mode != "" && filter && !strings.HasPrefix(a, "-") {
			var v any = a
			if mode == "--jsonargs" {
				var err error
				if v, err = decodeJSON([]byte(a)); err != nil {
					return nil, nil, nil, c.die(2, "Invalid JSON text passed to --jsonargs")
				}
			}
			positional = append(positional, v)
			continue
		}
		filter = filter || !strings.HasPrefix(a, "-")
		args = append(args, a)
	}
	return args, named, positional, -1
}

func decodeJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	return jqNumbers(v), nil
}

func slurpJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	list := []any{}
	for {
		var v any
		if err := d.Decode(&v); err == io.EOF {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, jqNumbers(v))
	}
}

// jqNumbers gives numbers the types that gojq takes.
func jqNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.Atoi(string(v)); err == nil {
			return n
		}
		if n, ok := new(big.Int).SetString(string(v), 10); ok && len(v) < 1000 {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = jqNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = jqNumbers(v[k])
		}
	}
	return v
}

// jqInput reads the values of the inputs; gojq's function input takes from it too.
type jqInput struct {
	j     *jqRun
	names []string
	raw   *lines
	dec   *json.Decoder
	err   error
	done  bool
}

// counted charges what is read to the memory budget until the next value.
type counted struct {
	c *call
	r io.Reader
}

func (r counted) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if e := r.c.reserve(int64(4 * n)); e != nil {
		return 0, e
	}
	return n, err
}

// Next implements gojq.Iter.
func (in *jqInput) Next() (any, bool) {
	j := in.j
	if in.done {
		return nil, false
	}
	if in.raw == nil && in.dec == nil {
		r := j.c.concat(in.names)
		if j.o.on("R") {
			in.raw = j.c.lines(r, '\n')
		} else {
			in.dec = json.NewDecoder(counted{j.c, r})
			in.dec.UseNumber()
		}
	}
	if in.raw != nil {
		line, ok := in.raw.next()
		in.done = !ok
		return string(line), ok
	}
	j.c.release(j.c.reserved)
	v, err := j.order.value(in.dec, 0)
	if err == nil {
		return v, true
	}
	in.done = true
	if err == io.EOF || errors.Is(err, errStopped) {
		return nil, false
	}
	what := text(err)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		what = "Unfinished JSON term"
	}
	in.err = fmt.Errorf("parse error: %s", what)
	return in.err, true
}

// jqRun is a running filter.
type jqRun struct {
	c      *call
	o      *options
	code   *gojq.Code
	values []any
	indent string
	order  jqOrder
	last   any
	any    bool
	status int
}

func (j *jqRun) run(in *jqInput) int {
	c, o := j.c, j.o
	switch {
	case o.on("n"):
		j.filter(nil)
	case o.on("s") && o.on("R"):
		data, err := c.readAll(c.concat(in.names))
		if err != nil {
			return c.die(2, "%s", text(err))
		}
		j.filter(string(data))
	case o.on("s"):
		list := []any{}
		for {
			v, ok := in.Next()
			if !ok {
				break
			}
			if err, bad := v.(error); bad {
				return c.die(2, "%s", err)
			}
			list = append(list, v)
		}
		j.filter(list)
	default:
		for !c.stopped() {
			v, ok := in.Next()
			if !ok {
				break
			}
			if err, bad := v.(error); bad {
				return c.die(2, "%s", err)
			}
			if !j.filter(v) {
				return j.status
			}
		}
	}
	switch {
	case j.status != 0:
		return j.status
	case c.status != 0:
		return 2
	case !o.on("e"):
		return 0
	case !j.any:
		return 4
	case j.last == nil || j.last == false:
		return 1
	}
	return 0
}

// filter runs the filter on one value and reports whether to go on.
func (j *jqRun) filter(v any) bool {
	iter := j.code.RunWithContext(j.c.ctx, v, j.values...)
	for {
		out, ok := iter.Next()
		if !ok {
			return true
		}
		if err, bad := out.(error); bad {
			var halt *gojq.HaltError
			switch {
			case errors.As(err, &halt):
				if s, ok := halt.Value().(string); ok {
					j.c.warnf("%s", s)
				} else if halt.Value() != nil {
					j.c.warnf("%s\n", j.json(halt.Value()))
				}
				j.status = halt.ExitCode()
				return false
			case j.c.ctx.Err() != nil:
				return false
			}
			j.c.errorf("error (at <stdin>:0): %s", strings.TrimPrefix(err.Error(), "error: "))
			j.status = 5
			return true
		}
		j.last, j.any = out, true
		j.print(out)
		if j.c.stopped() {
			return false
		}
	}
}
