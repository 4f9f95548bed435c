package vars

// Error is an error of an expansion. Fatal ones end a shell that is not
// interactive.
type Error struct {
	Msg   string
	Fatal bool
}

func (e *Error) Error() string { return e.Msg }
