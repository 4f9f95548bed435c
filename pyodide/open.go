package pyodide

import (
	"context"
	"errors"

	"coderunner/internal/trace"
)

// Open makes a runtime. The first time, with an empty store, this compiles for
// some ten seconds.
func Open(ctx context.Context, c Config) (r *Runtime, err error) {
	r = &Runtime{compiled: &compiled{config: c}}
	r.pool = newInstances(r.compiled, c.MaxIdle)
	r.initLink()
	r.analyses.Weigh = func(a *Analysis) int { return len(a.compiled) }
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
			r = nil
		}
	}()
	loading := trace.Begin("load CPython's machine code")
	err = r.compile(ctx)
	if loading(); err != nil {
		return r, err
	}
	if err = Rows().Instantiate(ctx, r.wz); err != nil {
		return r, err
	}
	defer trace.Begin("map the standard library and the snapshot")()
	if err = r.loadStdlib(ctx); err != nil {
		return r, err
	}
	return r, r.loadSnapshot(ctx)
}

// Close frees the compiled code. All interpreters must be closed before.
func (r *Runtime) Close() error {
	var errs []error
	r.close.Do(func() {
		ctx := context.Background()
		r.pool.Close()
		r.link.stop()
		r.link.running.Wait()
		if r.code != nil {
			errs = append(errs, r.link.shared.keep())
			errs = append(errs, r.code.Close(ctx))
		}
		errs = append(errs, r.link.shared.close())
		if r.base != nil {
			errs = append(errs, r.base.Close())
		}
		for _, f := range r.unmap {
			errs = append(errs, f())
		}
	})
	return errors.Join(errs...)
}
