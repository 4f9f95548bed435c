package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"coderunner/internal/lazyregexp"
	"coderunner/internal/notebook"
	"coderunner/internal/stdin"
	"coderunner/runners"
	"coderunner/runners/python/encoding"
)

// newRequest reads the program and what it is given. A notebook has cells. The
// program is o.code or o.eval where file is "".
func newRequest(ctx context.Context, cfg Config, o runOptions, file string, args []string) (req runners.Request, in notebook.Cells, err error) {
	req = runners.Request{Packages: o.packages, Args: args, Limits: cfg.Limits}
	isNotebook, limit := strings.EqualFold(filepath.Ext(file), ".ipynb"), int64(runners.MaxCode)
	isModule := o.language == "" && endingLanguage(file) == runners.WASM || runners.ParseLanguage(o.language) == runners.WASM
	if isModule {
		limit = int64(runners.MaxCodeOf(runners.WASM)) / 4 * 3
	}
	if isNotebook {
		limit = notebook.Max
	}
	code := []byte(o.code + o.eval)
	if file != "" {
		if code, err = readFile(ctx, file, limit+1); errors.Is(err, syscall.EISDIR) {
			return req, nil, fmt.Errorf("%s: is a directory: %s", file, programIn(file))
		} else if err != nil {
			return req, nil, err
		}
	}
	switch {
	case len(code) == 0 && file == "-" && !slices.ContainsFunc(args, isLanguageFlag):
		//lint:ignore ST1005 the usage line ends so
		return req, nil, errors.New("there is no program on the standard input; usage: coderunner run [flags] FILE|-|-c CODE [ARG]...")
	case int64(len(code)) > limit:
		return req, nil, fmt.Errorf("%s: longer than the %d MiB that a program may have", file, limit>>20)
	case isModule && bytes.HasPrefix(code, []byte("\x00asm")): // else it is in base64
		code = base64.StdEncoding.AppendEncode(nil, code)
	case bytes.IndexByte(code[:min(len(code), 8000)], 0) >= 0: // as Git tells
		return req, nil, fmt.Errorf("%s: not text but a binary file", file)
	}
	req.Code = string(code)
	if isNotebook || notebook.Is(req.Code) {
		req.Filename = notebook.Name
		var language string
		if req.Code, language, in, err = notebook.Read(code); err != nil {
			return req, nil, fmt.Errorf("%s: %w", file, err)
		}
		o.language = cmp.Or(o.language, language, string(runners.Detect(req.Code)), string(runners.Python))
	}
	if file == "" { // where neither the flag nor the text shows it
		meant := map[bool]runners.Language{true: runners.Python, false: runners.TypeScript}[o.eval == ""]
		o.language = string(cmp.Or(runners.Language(o.language), runners.Detect(req.Code), meant))
	}
	if req.Language, err = languageOf(o.language, file, req.Code); err != nil {
		if slices.ContainsFunc(args, isLanguageFlag) {
			err = fmt.Errorf("%s: put --language before it: what follows is the program's", file)
		}
		return req, nil, err
	}
	if req.Language == runners.Python {
		if req.Code, err = encoding.Decode(file, req.Code); err != nil {
			return req, nil, err
		}
	}
	if req.Project, req.Files, err = openProject(cfg, o, file, req.Language, in != nil); err != nil {
		return req, nil, err
	}
	req.Filename = req.Project.Program
	if file != "-" {
		req.Stdin = programStdin(os.Stdin, req.Language)
		req.Terminal = req.Stdin != nil && term.IsTerminal(int(os.Stdin.Fd()))
	}
	return req, in, nil
}

// readFile reads at most limit bytes of a file, or of our stdin if that is "-".
// It returns at once when ctx ends: a terminal, a pipe or a FIFO may keep it
// waiting.
func readFile(ctx context.Context, file string, limit int64) (data []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		in := os.Stdin
		if file != "-" {
			if in, err = os.Open(file); err != nil {
				return
			}
			defer in.Close()
		}
		data, err = io.ReadAll(io.LimitReader(in, limit))
	}()
	select {
	case <-done:
		return data, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ownShebang matches the first line of a program that names us as its
// interpreter, with the language in it.
var ownShebang = lazyregexp.New(`^#!.*\bcoderunner\s.*(?:-l|--language)(?:\s*=\s*|\s+)(\w+)`)

// languageOf returns the language of --language, or else of the file's name, or
// else the one that the program's text shows.
func languageOf(asked, file, code string) (runners.Language, error) {
	l := runners.ParseLanguage(asked)
	switch {
	case l != "":
		return l, nil
	case asked != "":
		return "", fmt.Errorf("--language %q: want %s", asked, languageNames(allLanguages))
	}
	if l = endingLanguage(file); l != "" {
		return l, nil
	}
	if m := ownShebang.FindStringSubmatch(code); m != nil {
		return languageOf(m[1], file, "")
	}
	if l = runners.Detect(code); l != "" {
		return l, nil
	}
	if file == "-" {
		return "", errors.New("the program does not show its language: use --language " + languageNames(allLanguages))
	}
	return "", fmt.Errorf("%s: neither the name nor the text shows the language: use --language %s", file, languageNames(allLanguages))
}

// endingLanguage returns the language that the ending of a file's name stands for, "" if
// it stands for none.
func endingLanguage(name string) runners.Language {
	return runners.ParseLanguage(strings.TrimPrefix(filepath.Ext(name), "."))
}

// namesJavaScript reports whether an argument names a file of JavaScript or TypeScript.
func namesJavaScript(arg string) bool {
	l := endingLanguage(arg)
	return l == runners.JavaScript || l == runners.TypeScript
}

func isLanguageFlag(arg string) bool {
	return arg == "-l" || arg == "--language" || strings.HasPrefix(arg, "--language=")
}

// programStdin returns what the program reads as its standard input: ours, but
// nothing if that is closed, or a terminal that is not ours to read from: a
// process in the background would be stopped.
func programStdin(in *os.File, l runners.Language) io.Reader {
	info, err := in.Stat()
	if err != nil || term.IsTerminal(int(in.Fd())) && inBackground(in) {
		return nil
	}
	if null, err := os.Stat(os.DevNull); err == nil && l == runners.Bash && os.SameFile(info, null) {
		return nil // which -p /dev/stdin knows from a pipe
	}
	if l == runners.Python {
		return in // it is read when the program asks
	}
	if l == runners.Bash && term.IsTerminal(int(in.Fd())) {
		return stdin.Keys(in)
	}
	return stdin.Peek(in)
}
