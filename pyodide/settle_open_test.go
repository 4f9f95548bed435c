package pyodide_test

import (
	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

func init() { pyodide.OpenForTest = pyodidetest.Runtime }
