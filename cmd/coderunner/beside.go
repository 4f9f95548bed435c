package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"coderunner/internal/notebook"
	"coderunner/runners"
)

// maxLookups bounds how many names of files a program's text is searched for.
const maxLookups = 20_000

// beside collects the files that a program sees: private copies of those in its
// own directory that it imports or that a string in its text names, of directories
// that it names if it lists any, of files below the current directory that its
// arguments name, of data below the current directory, if it is below that itself, and
// of what --file and --dir name. Nothing else of the directory is
// visible, no hidden file, and nothing outside of it, for links that leave it are not
// followed.
type beside struct {
	root    *os.Root // the program's directory
	dir     string   // its path, without symlinks
	program string   // the program's name there
	warn    io.Writer
	files   []runners.File
	known   map[string]bool // paths that were looked up
	left    int64           // bytes
	texts   []text          // to be searched
	mapped  []mapped        // names of imports
	dirs    []string        // that the texts name
	lists   bool            // whether a text lists directories
	shell   bool            // whether the program is one of bash, in which any word may name a directory
	entries int             // that patterns have read
	asset   bool            // whether what is taken is an asset
	imports map[string]bool // directories that texts of JavaScript import
	runs    bool            // whether a text may run files that it does not name

	above     bool            // as in runOptions
	here      *os.Root        // the current directory if the program's is below it
	knownHere map[string]bool // as known
}

// text is a source file and its directory.
type text struct {
	code, dir string
	language  runners.Language // "": it is data that may name files
	asset     bool             // of a file that is data: see assets.go
}

// filesFor returns the files for the program, whose text is code.
//
// Where it is below the current directory and names files above its own, its directory
// is the current one.
func filesFor(o runOptions, program string, below bool, code string, l runners.Language, args []string, warn io.Writer) (_ []runners.File, err error) {
	b := &beside{known: map[string]bool{}, imports: map[string]bool{}, knownHere: map[string]bool{}, left: runners.MaxFilesBytes, above: o.above, warn: warn}
	dir := "."
	if program != "-" {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			program = real // as Python does
		}
		dir, b.program = filepath.Split(program)
	}
	at := "."
	if below {
		at, dir = path.Clean(filepath.ToSlash(dir)), "."
		b.program = path.Join(at, b.program)
	}
	b.dir = absolute(filepath.Clean(dir))
	if b.root, err = os.OpenRoot(b.dir); err != nil {
		return nil, err
	}
	defer b.root.Close()
	if err := b.openHere(); err != nil {
		return nil, err
	}
	if b.here != nil {
		defer b.here.Close()
	}
	for _, name := range append(o.files, o.dirs...) {
		if err := b.named(name); err != nil {
			return nil, err
		}
	}
	if err := b.arguments(args, l == runners.Bash && shellLists.MatchString(code) || l != runners.Bash && listing.MatchString(code)); err != nil {
		return nil, err
	}
	b.known[b.program] = true
	b.texts = append(b.texts, text{code, at, l, false})
	if l != runners.Python && l != runners.Bash {
		for _, config := range []string{"deno.json", "deno.jsonc", "package.json", "tsconfig.json"} {
			b.takeConfig(config)
			if at != "." {
				b.takeConfig(path.Join(at, config))
			}
		}
	}
	if l == runners.Python && isTest(b.program, code) {
		b.takeTestConfigs(at)
	}
	for b.shell = l == runners.Bash; len(b.texts) > 0; {
		t := b.texts[0]
		b.texts = b.texts[1:]
		b.search(t)
		if len(b.texts) == 0 {
			b.takeNamed()
		}
	}
	b.judgeAssets()
	b.tellUnlisted(code, l, args)
	if !below && b.program != "" && o.session == "" && !o.flat && !o.reads {
		b.tellAbove(code, l)
	}
	return b.files, nil
}

var (
	literal      = regexp.MustCompile("\"([^\"\\\\\n]{1,255})\"|'([^'\\\\\n]{1,255})'|`([^`\\\\\n]{1,255})`")
	pythonImport = regexp.MustCompile(`(?m)(?:^|[;:])[ \t]*(?:import[ \t]+([^\n#;]+)|from[ \t]+([\pL_][\pL\pN_.]*)[ \t]+import\b)`)
	notebookLine = regexp.MustCompile(`(?m)^[ \t]*(%run|!)[ \t]*(.*)$`)
	dotenv       = regexp.MustCompile(`\b(?:load_dotenv|dotenv_values|find_dotenv|loadEnvFile|read_env)\(|["'](?:npm:)?dotenv(?:/config)?["']|@std/dotenv|\bfrom decouple import`)
	flask        = regexp.MustCompile(`\bFlask\(|\bJinja2Templates\(|\brender_template\(`)
	dynamic      = regexp.MustCompile(`\b(?:import_module|__import__|run_module)\(`)
)

// search takes the files that a text names.
func (b *beside) search(t text) {
	t.code = strings.ReplaceAll(t.code, "\r\n", "\n")
	b.asset = t.asset
	if t.language == "" {
		b.searchData(t)
		return
	}
	b.runs = b.runs || !t.asset && (t.language == runners.Bash || runsFiles.MatchString(t.code))
	var names, words, patterns, modules []string
	for _, m := range literal.FindAllStringSubmatch(t.code, maxLookups) {
		name := m[1] + m[2] + m[3]
		names = append(names, name)
		if constant, ok := begins(name); ok {
			names = append(names, constant)
		}
	}
	made := madeNames(t.code, names, t.language)
	var said map[string]bool // the words of a bash script that may name directories
	if t.language == runners.Bash {
		words, patterns = shellWords(t.code)
		var lists bool
		said, lists = shellDirectories(t.code)
		b.lists = b.lists || lists
	} else if listing.MatchString(t.code) {
		b.lists, patterns = true, append(patterns, quotedPatterns(t.code, names)...)
	}
	if t.language == runners.Python {
		for _, m := range notebookLine.FindAllStringSubmatch(t.code, maxLookups) {
			found, _ := shellWords(m[2])
			words = append(words, found...)
			if m[1] == "%run" {
				modules = append(modules, found...) // without its ending
			}
		}
	}
	for _, m := range pythonImport.FindAllStringSubmatch(t.code, maxLookups) {
		for name := range strings.SplitSeq(m[1]+m[2], ",") {
			modules = append(modules, firstPart(name))
		}
	}
	if dynamic.MatchString(t.code) {
		for _, name := range names {
			modules = append(modules, firstPart(name))
		}
	}
	for _, name := range names {
		b.takeMapped(name)
	}
	for _, dir := range importedDirs(t.code, t.dir) {
		b.imports[dir] = b.imports[dir] || !t.asset
	}
	if flask.MatchString(t.code) {
		names = append(names, "templates", "static")
	}
	if dotenv.MatchString(t.code) {
		names = append(names, ".env")
	}
	b.takeRelative(t)
	// A name may be below the directory that another one names.
	// Or above, up to the working directory.
	dirs := []string{t.dir}
	for dir := t.dir; dir != "."; {
		dir = path.Dir(dir)
		dirs = append(dirs, dir)
	}
	for i := 0; i < len(dirs) && i < 20; i++ {
		for _, name := range names {
			if dir := b.take(path.Join(dirs[i], name)); dir != "" {
				dirs, b.dirs = append(dirs, dir), append(b.dirs, dir)
			}
			if strings.HasPrefix(name, ".") {
				b.resolve(path.Join(dirs[i], name))
			}
		}
		for _, name := range words {
			if dir := b.take(path.Join(dirs[i], name)); dir != "" && !hidden(dir) {
				if dirs = append(dirs, dir); said[name] {
					b.dirs = append(b.dirs, dir)
				}
			}
		}
		for _, pattern := range patterns {
			b.match(path.Join(dirs[i], pattern))
		}
		for _, pattern := range made {
			b.guess(path.Join(dirs[i], pattern))
		}
		for _, name := range modules {
			if name == "" || !b.isModule(path.Join(dirs[i], name), t.code) {
				continue
			}
			b.take(path.Join(dirs[i], name+".py"))
			if dir := b.take(path.Join(dirs[i], name)); dir != "" {
				b.takePackage(dir)
				dirs = append(dirs, dir) // for its data
			}
		}
	}
}

// begins returns the directory that a text with something put into it, such as
// f"data/{name}.csv", begins with.
func begins(text string) (dir string, ok bool) {
	at := strings.IndexAny(text, "{$%")
	if at < 0 {
		return "", false
	}
	end := strings.LastIndexByte(text[:at], '/')
	return text[:max(end, 0)], end > 0
}

// firstPart returns the first part of a module's dotted name.
func firstPart(name string) string {
	fields := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" \t.()", r) })
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// resolve takes the module that an import without its ending means, or with
// that of what it is compiled to.
func (b *beside) resolve(name string) {
	stem := strings.TrimSuffix(name, path.Ext(name))
	for _, ending := range []string{".ts", ".tsx", ".js", ".jsx", ".mjs", ".mts", ".cjs", ".cts", ".json"} {
		b.take(name + ending)
		b.take(path.Join(name, "index"+ending))
		if stem != name {
			b.take(stem + ending)
		}
	}
}

// takePackage takes the modules of a Python package.
func (b *beside) takePackage(dir string) {
	root := b.root
	if _, err := root.Stat(dir); err != nil {
		root = b.here
	}
	_ = fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || len(b.known) > maxLookups:
			return fs.SkipAll
		case name != dir && skipped(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir() && strings.HasSuffix(name, ".py"):
			b.take(name)
		}
		return nil
	})
}

// skipped reports whether an entry is never taken unless it is named: hidden
// ones, which hold secrets and histories, and what tools install.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "__pycache__"
}

// hidden reports whether a path has a hidden part.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}

// target returns the path of a file without symlinks.
func (b *beside) target(name string) string {
	rel, _ := filepath.Rel(b.dir, absolute(filepath.Join(b.dir, name)))
	return filepath.ToSlash(rel)
}

var errHidden = errors.New("is hidden")

// take takes a file beside the program, if it is there. It returns the name of a
// directory.
func (b *beside) take(name string) (dir string) {
	if !fs.ValidPath(name) || name == "." || len(b.known) > maxLookups {
		return ""
	}
	if b.known[name] {
		b.reconsider(name)
		return ""
	}
	b.known[name] = true
	info, err := b.root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG):
		return b.takeHere(name)
	case err == nil && info.IsDir():
		return name
	case hidden(name) || err == nil && hidden(b.target(name)):
		err = errHidden
	case err == nil:
		err = b.copy(b.root, name, name)
	}
	if err != nil {
		b.refuse(name, err)
		return ""
	}
	b.read(b.files[len(b.files)-1])
	return ""
}

// read has a file searched, if it is a program or a notebook.
func (b *beside) read(f runners.File) {
	if l := endingLanguage(f.Path); l != "" {
		b.texts = append(b.texts, text{string(f.Data), path.Dir(f.Path), l, f.Asset})
	} else if path.Ext(f.Path) == ".ipynb" {
		if code, _, _, err := notebook.Read(f.Data); err == nil {
			b.texts = append(b.texts, text{code, path.Dir(f.Path), runners.Python, f.Asset})
		}
	} else if listsFiles(f) {
		b.texts = append(b.texts, text{string(f.Data), path.Dir(f.Path), "", f.Asset})
	}
}

// copy adds a regular file in root as a file of the given path.
func (b *beside) copy(root *os.Root, name, as string) error {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO has no writer
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("is not a regular file")
	case info.Size() > b.left:
		return fmt.Errorf("is too large: a program's files have %s together (--allow-read=PATH shows it the original)", humanSize(runners.MaxFilesBytes))
	case len(b.files) >= runners.MaxFiles:
		return fmt.Errorf("is one too many: a program has at most %d files", runners.MaxFiles)
	}
	data, err := io.ReadAll(io.LimitReader(f, b.left)) // it may grow meanwhile
	if err != nil {
		return err
	}
	b.left -= int64(len(data))
	b.files = append(b.files, runners.File{Path: filepath.ToSlash(as), Data: data, Modified: info.ModTime(), Asset: b.asset, Runs: info.Mode()&0o111 != 0})
	return nil
}

// absolute returns the path without symlinks, as far as there is such a file.
func absolute(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	return name
}
