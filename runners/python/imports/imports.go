// Package imports maps the modules that programs import to the projects that
// have them.
//
// Package python asks it before it resolves. It does not use the network: package
// resolver finds out whether a project exists.
package imports

import (
	_ "embed"
	"regexp"
	"strings"

	"coderunner/runners/python/requirement"
	"coderunner/runners/python/wheel"
)

// Finder maps modules to packages; a lock file's import map is one. It returns ""
// for unknown modules.
type Finder func(module string) (project string)

// Project returns a requirement of the project that a module is most likely
// in: by the finder, by the list of well-known aliases, or the project of the
// same name. Its name is "" for modules whose names no project can have.
func Project(module string, known Finder) requirement.Requirement {
	parts := strings.Split(module, ".")
	if project := known(module); project != "" {
		// For a name that many projects share, known has only one of them.
		if _, many := shared[parts[0]]; !many || len(parts) == 1 || project != known(parts[0]) {
			return requirement.Requirement{Name: project}
		}
	}
	for i := len(parts); i > 0; i-- {
		if alias, ok := aliases[strings.Join(parts[:i], ".")]; ok {
			name, newer, bounded := strings.Cut(alias, "<")
			if bounded {
				return requirement.Requirement{Name: name, Specifier: "<" + newer}
			}
			return requirement.Requirement{Name: name}
		}
	}
	name := strings.Join(parts[:min(depth(parts), len(parts))], "-")
	if parts[0] == "google" {
		name = version.ReplaceAllString(name, "")
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" ||
		strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_") || strings.HasSuffix(name, "-") {
		return requirement.Requirement{}
	}
	return requirement.Requirement{Name: wheel.Normalize(name)}
}

// version is how the modules of Google's projects end that have a version of an API:
// google.cloud.pubsub_v1 is in google-cloud-pubsub.
var version = regexp.MustCompile(`_v\d[a-z0-9]*$`)

// depth returns how many parts of a module's name form its project's.
func depth(parts []string) int {
	for i := len(parts); i > 0; i-- {
		if n := shared[strings.Join(parts[:i], ".")]; n > 0 {
			return n
		}
	}
	return 1
}

// Deeper returns the modules that a program imports from a namespace that many
// projects share: for "google.cloud" and the line "from
// google.cloud import storage", "google.cloud.storage". For others it returns
// the module itself.
func Deeper(module, code string) []string {
	parts := strings.Split(module, ".")
	if len(parts) >= depth(parts) || aliases[module] != "" {
		return []string{module}
	}
	var modules []string
	lines := regexp.MustCompile(`(?m)^[ \t]*from[ \t]+` + regexp.QuoteMeta(module) + `[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\r\n#]*))`)
	for _, m := range lines.FindAllStringSubmatch(code, -1) {
		for name := range strings.SplitSeq(m[1]+m[2], ",") {
			if words := strings.Fields(name); len(words) > 0 && words[0] != "*" {
				modules = append(modules, module+"."+words[0])
			}
		}
	}
	if modules == nil {
		return []string{module}
	}
	return modules
}

// Gone returns what replaces a module that was removed from Python and has no
// project of its name, or "".
func Gone(module string) string {
	top, _, _ := strings.Cut(module, ".")
	return gone[top]
}

// Own reports whether a module's name is one that programs nearly always give to a file
// of their own, so that a project of that name is a stranger's.
func Own(module string) bool {
	top, _, _ := strings.Cut(module, ".")
	return own[top]
}

var own = map[string]bool{
	"app": true, "common": true, "config": true, "constants": true, "database": true, "helper": true, "helpers": true,
	"main": true, "models": true, "my_module": true, "mymodule": true, "schemas": true, "settings": true, "solution": true,
	"util": true, "utils": true,
}

// shared are the namespaces that many projects share, and how many parts of a
// module's name form the project's.
var shared = map[string]int{
	"google": 2, "google.ai": 3, "google.analytics": 3, "google.cloud": 3,
	"azure": 2, "azure.ai": 3, "azure.communication": 3, "azure.data": 3, "azure.iot": 3, "azure.keyvault": 3,
	"azure.cognitiveservices": 3, "azure.cognitiveservices.vision": 4, "azure.cognitiveservices.language": 4,
	"azure.mgmt": 3, "azure.monitor": 3, "azure.search": 3, "azure.storage": 3,
	"backports": 2, "jaraco": 2, "ruamel": 2, "sphinxcontrib": 2, "zope": 2, "zc": 2, "plone": 2,
	"opentelemetry": 2, "opentelemetry.exporter": 3, "opentelemetry.exporter.jaeger": 4, "opentelemetry.exporter.otlp": 5, "opentelemetry.instrumentation": 3,
}

// gone are modules that were removed from Python and have no project of their
// name. Those with a project of another name are in aliases.
var gone = map[string]string{
	"binhex":    "it was removed from Python in 3.11; use binascii or base64",
	"crypt":     "it was removed from Python in 3.13; use hashlib, or the package legacycrypt",
	"distutils": "it was removed from Python in 3.12; use sysconfig, shutil, or packaging.version of the package packaging. The package setuptools has it as setuptools._distutils",
	"formatter": "it was removed from Python in 3.10",
	"imp":       "it was removed from Python in 3.12; use importlib",
	"lib2to3":   "it was removed from Python in 3.13; use ast, or the packages libcst or parso",
	"mailcap":   "it was removed from Python in 3.13",
	"nis":       "it was removed from Python in 3.13",
	"parser":    "it was removed from Python in 3.10; use ast",
	"smtpd":     "it was removed from Python in 3.12; the package aiosmtpd is its successor",
	"spwd":      "it was removed from Python in 3.13",
	"symbol":    "it was removed from Python in 3.10; use ast",
}

// aliases are modules whose project has another name, or that only old versions
// have ("project<version"). Modules in the lock file may be here, too: the lists
// overlap when the lock changes.
var aliases = func() map[string]string {
	words := strings.Fields(aliasText)
	found := make(map[string]string, len(words)/2)
	for i := 0; i+1 < len(words); i += 2 {
		found[words[i]] = words[i+1]
	}
	return found
}()

// aliasText has a module and a requirement in each line.
//
//go:embed aliases.txt
var aliasText string
