package main

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
)

// mapped is a name of imports that a configuration file maps to a file beside the
// program. Both may have a "*", which stands for the same in them.
type mapped struct{ name, file string }

var (
	mapping      = regexp.MustCompile(`"([^"\\\n]{1,255})"\s*:\s*"(\./[^"\\\n]{1,255})"`)
	compilerPath = regexp.MustCompile(`"([^"\\\n]{1,255})"\s*:\s*\[\s*"([^"\\\n]{1,255})"`)
	baseURL      = regexp.MustCompile(`"baseUrl"\s*:\s*"([^"\\\n]{1,255})"`)
)

// Bounds of what one file maps.
const (
	maxMapped     = 1000 // names
	maxMappedPath = 255  // bytes
)

// takeConfig takes a file that may map names of imports to files.
func (b *beside) takeConfig(name string) {
	before := len(b.files)
	if b.take(name); len(b.files) == before { // nor in the current directory
		return
	}
	data, dir := b.files[before].Data, path.Dir(name)
	switch path.Base(name) {
	case "package.json":
		var config struct{ Imports map[string]any }
		_ = json.Unmarshal(data, &config) // Deno says what is wrong with it
		left := maxMapped
		for key, targets := range config.Imports {
			b.mapTargets(dir, key, targets, &left)
		}
	case "tsconfig.json":
		if m := baseURL.FindSubmatch(data); m != nil {
			dir = path.Join(dir, string(m[1]))
		}
		for _, m := range compilerPath.FindAllSubmatch(data, maxMapped) {
			b.mapped = append(b.mapped, mapped{string(m[1]), path.Join(dir, string(m[2]))})
		}
	default:
		for _, m := range mapping.FindAllSubmatch(data, maxMapped) {
			key, file := string(m[1]), path.Join(dir, string(m[2]))
			if strings.HasSuffix(key, "/") {
				key, file = key+"*", file+"/*"
			}
			b.mapped = append(b.mapped, mapped{key, file})
		}
	}
}

// mapTargets maps a name of "imports" in a package.json: to a file, or to one for
// each condition.
func (b *beside) mapTargets(dir, key string, targets any, left *int) {
	switch v := targets.(type) {
	case string:
		if *left--; *left >= 0 && len(v) <= maxMappedPath && strings.HasPrefix(v, "./") {
			b.mapped = append(b.mapped, mapped{key, path.Join(dir, v)})
		}
	case []any:
		for _, target := range v {
			b.mapTargets(dir, key, target, left)
		}
	case map[string]any:
		for _, target := range v {
			b.mapTargets(dir, key, target, left)
		}
	}
}

// takeMapped takes what the name of an import is mapped to.
func (b *beside) takeMapped(name string) {
	for _, m := range b.mapped {
		before, after, wild := strings.Cut(m.name, "*")
		rest, begins := strings.CutPrefix(name, before)
		rest, ends := strings.CutSuffix(rest, after)
		if begins && ends && (wild || rest == "") {
			at := path.Clean(strings.ReplaceAll(m.file, "*", rest))
			b.take(at)
			b.resolve(at)
		}
	}
}
