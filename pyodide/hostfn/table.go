package hostfn

import (
	"context"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Table is what the host offers to a guest.
type Table []Row

// Check reports the first row that is incomplete or that is there twice.
func (t Table) Check() error {
	seen := make(map[[2]string]bool, len(t))
	for i := range t {
		r := &t[i]
		key := [2]string{r.Module, r.Name}
		switch {
		case r.Module == "" || r.Name == "":
			return fmt.Errorf("host function %d has no name", i)
		case seen[key]:
			return fmt.Errorf("host function %s.%s is there twice", r.Module, r.Name)
		case r.Fn == nil:
			return fmt.Errorf("host function %s.%s does nothing", r.Module, r.Name)
		case r.Source == "":
			return fmt.Errorf("host function %s.%s has no source", r.Module, r.Name)
		case r.Support != Full && r.Note == "":
			return fmt.Errorf("host function %s.%s is %v and has no note", r.Module, r.Name, r.Support)
		}
		if err := checkSig(r.Sig); err != nil {
			return fmt.Errorf("host function %s.%s: %w", r.Module, r.Name, err)
		}
		if n := len(strings.Fields(r.Args)); n != len(r.Params()) {
			return fmt.Errorf("host function %s.%s of type %s names %d parameters", r.Module, r.Name, r.Sig, n)
		}
		seen[key] = true
	}
	return nil
}

// Instantiate makes one host module for each module name of the table on r.
// Closing r closes them. The names of functions and parameters are given to
// wazero, so that its logging and its stack traces show them.
func (t Table) Instantiate(ctx context.Context, r wazero.Runtime) error {
	if err := t.Check(); err != nil {
		return err
	}
	var modules []string
	builders := map[string]wazero.HostModuleBuilder{}
	for i := range t {
		row := &t[i]
		b := builders[row.Module]
		if b == nil {
			b = r.NewHostModuleBuilder(row.Module)
			builders[row.Module] = b
			modules = append(modules, row.Module)
		}
		builders[row.Module] = b.NewFunctionBuilder().
			WithGoFunction(row.goFunc(), row.Params(), row.Results()).
			WithName(row.Name).WithParameterNames(strings.Fields(row.Args)...).Export(row.Name)
	}
	for _, name := range modules {
		if _, err := builders[name].Instantiate(ctx); err != nil {
			return fmt.Errorf("instantiate host module %s: %w", name, err)
		}
	}
	return nil
}

// goFunc wraps the row's function so that it sees clean i32 arguments and
// leaves a clean i32 result.
func (r *Row) goFunc() api.GoFunc {
	fn := r.Fn
	in, out, _ := strings.Cut(r.Sig, ":")
	var narrow []int
	for i := range in {
		if in[i] == 'i' {
			narrow = append(narrow, i)
		}
	}
	narrowResult := out == "i"
	return func(ctx context.Context, stack []uint64) {
		for _, i := range narrow {
			stack[i] = uint64(uint32(stack[i]))
		}
		fn(ctx, stack)
		if narrowResult {
			stack[0] = uint64(uint32(stack[0]))
		}
	}
}
