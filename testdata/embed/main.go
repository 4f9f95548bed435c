// Command orders is a Go program with Python in it: a rule, which a customer wrote, decides
// about orders and asks the program's own functions. See docs/embedding.md.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"coderunner/cache"
	"coderunner/pyodide"
	"coderunner/runners/python"
)

//go:embed rules
var rules embed.FS

// Order is what rules get: in Python an object with the attributes id and items.
type Order struct {
	ID    int      `json:"id"`
	Items []string `json:"items"`
}

var prices = map[string]float64{"tea": 4.5, "cup": 12}

// functions is the module "shop" that rules import.
var functions = pyodide.Module{
	"orders": func() []Order { return []Order{{1, []string{"tea", "cup"}}, {2, []string{"tea", "pot"}}} },
	"price": func(item string) (float64, error) {
		p, ok := prices[item]
		if !ok {
			return 0, &pyodide.Exception{Type: "LookupError", Message: "we do not sell " + item}
		}
		return p, nil
	},
	"stock": pyodide.Async(func(ctx context.Context, item string) (int, error) {
		select { // as a warehouse far away
		case <-time.After(50 * time.Millisecond):
			return len(item), nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}),
	"sign": func(text []byte) []byte { return append([]byte("signed: "), text...) },
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	store, err := cache.Open(os.Getenv("CODE_RUNNER_CACHE_DIR")) // "": the user's own
	if err != nil {
		return err
	}
	defer store.Close()
	py, err := python.New(python.Config{Cache: store})
	if err != nil {
		return err
	}
	defer py.Close()
	// The first time fetches Pyodide and the packages, and compiles them.
	env, err := py.Environment(ctx, []string{"attrs>=23"}, []string{"attrs"}, nil)
	if err != nil {
		return err
	}
	defer env.Close()

	begun := time.Now()
	in, err := env.New(ctx, pyodide.Options{
		Stdout: os.Stdout, Memory: 256 << 20,
		Modules: map[string]pyodide.Module{"shop": functions},
	})
	if err != nil {
		return err
	}
	defer in.Close()
	fmt.Fprintln(os.Stderr, "an interpreter in", time.Since(begun))
	if err := in.Mount("/rules", rules); err != nil { // any fs.FS, which stays as it is
		return err
	}
	code, err := rules.ReadFile("rules/total.py")
	if err != nil {
		return err
	}
	res, err := in.Run(ctx, pyodide.Program{Code: string(code), Filename: "total.py", Timeout: 10 * time.Second})
	if err != nil {
		return err
	}
	if res.Exception != nil {
		return res.Exception
	}
	var total map[string]float64
	if err := json.Unmarshal(res.Value.JSON, &total); err != nil {
		return err
	}
	fmt.Println("totals:", total)
	return nil
}
