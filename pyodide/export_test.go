package pyodide

// AwaitAhead waits until nothing is being restored ahead of need.
func (r *Runtime) AwaitAhead() { r.ahead.running.Wait() }
