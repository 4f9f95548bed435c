package main

import (
	"runtime"
	"slices"
)

// platform is a system that binaries are built for, with its names elsewhere.
type platform struct {
	OS, Arch string // as Go has them
	node     string // process.platform of Node
	cpu      string // process.arch of Node
	wheel    string // platform tags of a wheel
	winget   string // architecture in winget and Scoop, of Windows
}

// platforms are all of them. The binaries for Linux are static, so that one wheel is for
// any libc. Go's programs need macOS 12.
var platforms = []platform{
	{"linux", "amd64", "linux", "x64", "manylinux2014_x86_64.musllinux_1_1_x86_64", ""},
	{"linux", "arm64", "linux", "arm64", "manylinux2014_aarch64.musllinux_1_1_aarch64", ""},
	{"darwin", "amd64", "darwin", "x64", "macosx_12_0_x86_64", ""},
	{"darwin", "arm64", "darwin", "arm64", "macosx_12_0_arm64", ""},
	{"windows", "amd64", "win32", "x64", "win_amd64", "x64"},
	{"windows", "arm64", "win32", "arm64", "win_arm64", "arm64"},
}

// here returns the platform of this machine, the zero value if no binary is made for it.
func here() platform {
	i := slices.IndexFunc(platforms, func(p platform) bool { return p.OS == runtime.GOOS && p.Arch == runtime.GOARCH })
	if i < 0 {
		return platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	}
	return platforms[i]
}

func (p platform) String() string { return p.OS + "/" + p.Arch }

// executable returns the name of the binary.
func (p platform) executable() string {
	if p.OS == "windows" {
		return "coderunner.exe"
	}
	return "coderunner"
}

// scripts returns the directory in which an environment of Python's has the binary.
func (p platform) scripts() string {
	if p.OS == "windows" {
		return "Scripts"
	}
	return "bin"
}
