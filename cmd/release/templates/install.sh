#!/bin/sh
# Installs coderunner {{.Version}} for this user, without root:
#
#   curl -fsSL {{.Latest}}/install.sh | sh
#
# CODE_RUNNER_INSTALL_DIR is another directory than ~/.local/bin, CODE_RUNNER_DOWNLOADS
# a mirror of the archives, whose digests stand below. --uninstall removes it again.
set -eu

dir=${CODE_RUNNER_INSTALL_DIR:-${HOME:?}/.local/bin}
from=${CODE_RUNNER_DOWNLOADS:-{{.Base}}}

die() {
	printf 'install.sh: %s\n' "$1" >&2
	exit 1
}

fetch() { # URL FILE
	if command -v curl >/dev/null 2>&1; then
		curl -fsSL -o "$2" "$1"
	elif command -v wget >/dev/null 2>&1; then
		wget -q -O "$2" "$1"
	else
		die "it needs curl or wget"
	fi
}

digest() { # FILE
	if command -v sha256sum >/dev/null 2>&1; then
		sha256sum "$1"
	elif command -v shasum >/dev/null 2>&1; then
		shasum -a 256 "$1"
	elif command -v openssl >/dev/null 2>&1; then
		openssl dgst -sha256 -r "$1"
	else
		die "it needs sha256sum, shasum or openssl"
	fi | cut -d ' ' -f 1
}

# All of it is read before anything is done, so that half a download does nothing.
main() {
	case ${1-} in
	--uninstall)
		rm -f "$dir/coderunner"
		printf 'Removed %s.\n' "$dir/coderunner"
		return
		;;
	'') ;;
	*) die "$1 is not an option; there is --uninstall" ;;
	esac
	os=$(uname -s)
	arch=$(uname -m)
	if [ "$os" = Darwin ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then
		arch=arm64 # a shell under Rosetta
	fi
	case $arch in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	esac
	case $os/$arch in
{{- range .Downloads}}{{if ne .OS "windows"}}
	{{if eq .OS "linux"}}Linux{{else}}Darwin{{end}}/{{.Arch}})
		name={{.Name}}
		want={{.SHA256}}
		;;
{{- end}}{{end}}
	MINGW* | MSYS* | CYGWIN*) die "on Windows use install.ps1" ;;
	*) die "there is no build for $os on $arch" ;;
	esac
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	fetch "$from/$name" "$tmp/$name" || die "cannot fetch $from/$name"
	got=$(digest "$tmp/$name")
	[ "$got" = "$want" ] || die "$name has the SHA-256 $got, not $want; nothing is installed"
	tar -xzf "$tmp/$name" -C "$tmp" coderunner
	mkdir -p "$dir"
	mv "$tmp/coderunner" "$dir/.coderunner.$$"
	mv "$dir/.coderunner.$$" "$dir/coderunner"
	printf 'Installed coderunner {{.Version}} as %s\n' "$dir/coderunner"
	case :$PATH: in
	*:"$dir":*) ;;
	*) # shellcheck disable=SC2016
		printf 'Add it to your PATH: export PATH="%s:$PATH"\n' "$dir" ;;
	esac
	printf 'Next:      coderunner config cursor --write (or another client)\n'
	printf 'Uninstall: coderunner cache clear; rm %s\n' "$dir/coderunner"
}

main "$@"
