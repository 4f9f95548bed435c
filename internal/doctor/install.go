package doctor

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// Packages are the names by which a release is installed, "" in other builds.
type Packages struct{ NPM, PyPI, Image string }

// Install is how the program was installed.
type Install struct {
	By     string `json:"by"`
	Path   string `json:"path"`
	Update string `json:"update"`
	Remove string `json:"remove"`
}

// ways are how it is installed, by what the path of the binary has in it. In commands, DIR
// is what the first parentheses matched, NPM and PyPI are the names of the packages.
var ways = []struct{ by, path, update, remove string }{
	{"npx", `^(.*/_npx/[^/]+)/node_modules/`, "coderunner config CLIENT --npx --write, by a newer version", "rm -r 'DIR'"},
	{"npm install -g", `/(?:lib|npm)/node_modules/`, "npm install -g NPM@latest", "npm uninstall -g NPM"},
	{"npm install", `^(.*?)/node_modules/`, "npm install --prefix 'DIR' NPM@latest", "npm uninstall --prefix 'DIR' NPM"},
	{"uv tool install", `/uv/(?:data/)?tools/`, "uv tool upgrade PyPI", "uv tool uninstall PyPI"},
	{"uvx", `/uv/(?:cache/)?(?:archive|environments)-v\d+/`, "coderunner config CLIENT --uvx --write, by a newer version", "uv cache clean PyPI"},
	{"pipx", `/pipx/venvs/`, "pipx upgrade PyPI", "pipx uninstall PyPI"},
	{"Homebrew", `/Cellar/coderunner/`, "brew upgrade coderunner", "brew uninstall coderunner"},
	{"Scoop", `(?i)/scoop/apps/coderunner/`, "scoop update coderunner", "scoop uninstall coderunner"},
	{"winget", `(?i)/winget/packages/`, "winget upgrade coderunner", "winget uninstall coderunner"},
}

// installed finds out how the binary at path was installed.
func installed(path string, names Packages) Install {
	slashed := filepath.ToSlash(path)
	i := Install{Path: path, By: "go build", Update: "build it anew", Remove: "rm '" + path + "'"}
	info, ok := debug.ReadBuildInfo()
	switch python := pythonOf(path, names.PyPI); {
	case os.Getenv("container") == "oci" && names.Image != "":
		i.By, i.Update, i.Remove = "an image", "docker pull "+names.Image, "docker rmi "+names.Image+"; docker volume rm coderunner"
	case python != "":
		i.By, i.Update, i.Remove = "pip", python+" -m pip install -U "+names.PyPI, python+" -m pip uninstall "+names.PyPI
	case ok && fromModule(info) && names == Packages{}:
		i.By, i.Update = "go install", "go install "+info.Path+"@latest"
	case names != Packages{}:
		i.By, i.Update = "an archive", "the line that installed it, of the newer version"
	}
	fill := strings.NewReplacer("NPM", names.NPM, "PyPI", names.PyPI)
	for _, w := range ways {
		if m := regexp.MustCompile(w.path).FindStringSubmatch(slashed); m != nil && names != (Packages{}) {
			i.By, i.Update, i.Remove = w.by, fill.Replace(w.update), fill.Replace(w.remove)
			if len(m) > 1 {
				i.Update, i.Remove = strings.ReplaceAll(i.Update, "DIR", m[1]), strings.ReplaceAll(i.Remove, "DIR", m[1])
			}
			return i
		}
	}
	return i
}

// fromModule reports whether go install built it from a published module, not from a clone.
func fromModule(info *debug.BuildInfo) bool {
	return info.Main.Version != "" && info.Main.Version != "(devel)" &&
		!slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return strings.HasPrefix(s.Key, "vcs") })
}

// pythonOf returns the interpreter beside a binary of a project that pip put there, "" if
// there is none.
func pythonOf(path, project string) string {
	bin, info := filepath.Dir(path), strings.ReplaceAll(strings.ToLower(project), "-", "_")+"-*.dist-info"
	if project == "" {
		return ""
	}
	for _, p := range []string{"python3", "python", "python.exe", "../python.exe"} {
		if _, err := os.Stat(filepath.Join(bin, p)); err != nil {
			continue
		}
		for _, site := range []string{"../lib/python*/site-packages", "../Lib/site-packages"} {
			if found, _ := filepath.Glob(filepath.Join(bin, site, info)); found != nil {
				return filepath.Join(bin, p)
			}
		}
	}
	return ""
}

// examineInstall tells how to update and remove the program.
func (r *Report) examineInstall(names Packages) {
	path, err := os.Executable()
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return
	}
	r.Install = installed(path, names)
	r.Checks = append(r.Checks,
		Check{Name: "installed by", Detail: r.Install.By + ", " + r.Install.Path},
		Check{Name: "update by", Detail: r.Install.Update},
		Check{Name: "remove by", Detail: "coderunner cache clear; " + r.Install.Remove})
}
