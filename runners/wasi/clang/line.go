package clang

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// line is a command line.
type line struct {
	cxx     bool
	compile []string // flags of clang
	inputs  []input  // of the linker, in their order
	out     string
	alone   []string // the whole line, where clang does all there is; nil: the linker follows
}

// input is a source, or what the linker is given as it is: an object, a library, a flag.
type input struct {
	source string
	before []string // flags: -x with the language
	link   []string
}

// stops are the flags by which nothing is linked.
var stops = []string{"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--version", "-dumpversion", "-dumpmachine", "-###", "--help", "--precompile"}

// separate are the flags of the compiler whose argument is the next word.
var separate = []string{
	"-I", "-D", "-U", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-MF", "-MT", "-MQ", "-Xclang", "-Xpreprocessor", "-mllvm", "-arch", "-isysroot", "-x", "-o", "-L", "-l", "-Xlinker", "-T", "-z", "-u", "-e",
}

// ignored are flags for processors and systems that this is not, by what they begin with.
var ignored = []string{"-march=", "-mtune=", "-mcpu=", "-mfpmath=", "-m32", "-m64", "-msse", "-mavx", "-mfma", "-fPIC", "-fpic", "-fPIE", "-fpie", "-pie", "-no-pie", "-static", "-rdynamic", "-pipe", "-pthread", "-lgcc", "-lpthread"}

// refused are flags for what there is not, by what they begin with.
var refused = map[string]string{
	"-fuse-ld":         "the linker is wasm-ld, and there is no other",
	"-fplugin":         "plugins of the compiler cannot be loaded here",
	"-fpass-plugin":    "plugins of the compiler cannot be loaded here",
	"-plugin":          "plugins of the compiler cannot be loaded here",
	"-load":            "plugins of the compiler cannot be loaded here",
	"-shared":          "shared libraries cannot be loaded here; make an archive of objects: cc -c a.c && ar rcs liba.a a.o",
	"-fsanitize":       "sanitizers have no runtime library here; WebAssembly itself traps what is outside of memory",
	"-fopenmp":         "there are no threads here; without -fopenmp its pragmas are comments",
	"-target":          "what runs here is wasm32-wasip1",
	"--target":         "what runs here is wasm32-wasip1",
	"-fprofile":        "profiles have no runtime library here",
	"--coverage":       "profiles have no runtime library here",
	"-save-temps":      "use -S, -E or -c instead",
	"-resource-dir":    "the compiler's own headers are part of it",
	"-fno-integrated-": "the assembler is part of the compiler",
}

func hasPrefix(list []string, s string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(s, p) })
}

// parse reads the arguments of cc and c++.
func parse(args []string, cxx bool) (*line, error) {
	l := &line{cxx: cxx, out: "a.out"}
	var lang []string // -x LANGUAGE
	stop := false
	kept := []string{} // what clang gets where it is alone
	for i := 0; i < len(args); i++ {
		a, word := args[i], ""
		if err := refusal(a); err != nil {
			return nil, err
		}
		if slices.Contains(separate, a) {
			if i++; i == len(args) {
				return nil, fmt.Errorf("argument to '%s' is missing", a)
			}
			word = args[i]
			if err := refusal(word); err != nil && strings.HasPrefix(a, "-X") {
				return nil, err
			}
		}
		stop = stop || slices.Contains(stops, a)
		if hasPrefix(ignored, a) || a == "-l" && hasPrefix(ignored, a+word) {
			continue
		}
		whole := slices.DeleteFunc([]string{a, word}, func(s string) bool { return s == "" })
		switch {
		case a == "-o":
			l.out = word
		case strings.HasPrefix(a, "-o") && len(a) > 2:
			l.out = a[2:]
		case a == "-x":
			lang = []string{"-x", word}
			cxx = cxx || strings.HasPrefix(word, "c++")
		case strings.HasPrefix(a, "-Wl,"):
			l.inputs = append(l.inputs, input{link: strings.Split(a[4:], ",")})
		case a == "-Xlinker":
			l.inputs = append(l.inputs, input{link: []string{word}})
		case strings.HasPrefix(a, "-l") || strings.HasPrefix(a, "-L") || slices.Contains([]string{"-s", "-r", "-z", "-u", "-e", "-T"}, a):
			l.inputs = append(l.inputs, input{link: library(whole)})
			continue // the compiler has no use for it
		case a == "-nostdlib" || a == "-nostartfiles" || a == "-nodefaultlibs" || a == "-nostdlib++":
			return nil, fmt.Errorf("%s: a program begins and ends by the C library here", a)
		case strings.HasPrefix(a, "-") && a != "-":
			l.compile = append(l.compile, whole...)
		case slices.Contains([]string{".o", ".a", ".wasm", ".obj"}, path.Ext(a)):
			l.inputs = append(l.inputs, input{link: []string{a}})
		default:
			l.inputs = append(l.inputs, input{source: a, before: lang})
			l.cxx = l.cxx || cxx || slices.Contains([]string{".cc", ".cpp", ".cxx", ".c++", ".C", ".hpp"}, path.Ext(a))
		}
		kept = append(kept, whole...)
	}
	switch {
	case stop || len(l.inputs) == 0 && slices.Contains(args, "-v"):
		l.alone = kept
	case !slices.ContainsFunc(l.inputs, func(in input) bool { return in.source != "" || !strings.HasPrefix(in.link[0], "-") }):
		return nil, errors.New("no input files")
	}
	return l, nil
}

func refusal(a string) error {
	for prefix, why := range refused {
		if strings.HasPrefix(a, prefix) {
			return fmt.Errorf("%s: %s", a, why)
		}
	}
	return nil
}

// library returns what a library of GCC is called here.
func library(flag []string) []string {
	switch strings.Join(flag, "") {
	case "-lstdc++", "-lsupc++":
		return []string{"-lc++", "-lc++abi"}
	}
	return flag
}
