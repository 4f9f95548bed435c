package deps

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/runners"
	"coderunner/runners/deno/jsparse"
)

// compilerOptions are those that only change how TypeScript is compiled.
var compilerOptions = []string{"emitDecoratorMetadata", "experimentalDecorators", "jsx", "jsxFactory", "jsxFragmentFactory", "jsxImportSource"}

// tagModes are the values of jsx with which Deno makes JavaScript of tags.
var tagModes = []any{"react", "react-jsx", "react-jsxdev", "precompile"}

// readOptions reads the compilerOptions of a configuration in dir. Those that
// were read before stay.
func (p *Project) readOptions(dir string, options map[string]any, paths bool) {
	for _, name := range compilerOptions {
		_, have := p.options[name]
		switch v := options[name].(type) {
		case string, bool:
			if dir == "." && !have && (name != "jsx" || slices.Contains(tagModes, any(v))) {
				p.options[name] = v
			}
		}
	}
	if !paths {
		return
	}
	base := path.Join(dir, text(options["baseUrl"]))
	if options["baseUrl"] != nil && filepath.IsLocal(base) {
		p.bases = append(p.bases, base)
	}
	for key, values := range members(options["paths"]) {
		if list, _ := values.([]any); len(list) > 0 {
			value := strings.TrimSuffix(text(list[0]), "*")
			if !strings.HasPrefix(value, ".") {
				value = "./" + value
			}
			p.add(dir, base, strings.TrimSuffix(key, "*"), value)
		}
	}
}

// config returns the configuration for Deno, nil if there is none.
func (p *Project) config() []byte {
	if len(p.options) == 0 {
		return nil
	}
	return runners.JSON(map[string]any{"compilerOptions": p.options})
}

// compile chooses the options that the modules need and the configuration does
// not state, and adds the imports that the compiler adds.
func (p *Project) compile(modules []Module) {
	tags := func(m Module) bool { return m.Tags && !m.Classic }
	if p.options["jsx"] == nil && slices.ContainsFunc(modules, tags) {
		p.options["jsx"] = "react-jsx"
	}
	mode, source := text(p.options["jsx"]), text(p.options["jsxImportSource"])
	if strings.HasPrefix(mode, "react-") && source == "" {
		source = tagSource(modules)
		p.options["jsxImportSource"] = source
	}
	functions := "/jsx-runtime"
	if mode == "react-jsxdev" {
		functions = "/jsx-dev-runtime"
	}
	if scheme.MatchString(source) {
		// Deno would want it in the lock file, as a dependency of the configuration.
		p.options["jsxImportSource"] = "#tags"
		p.imports.put("", "#tags"+functions, source+functions)
	}
	for _, m := range modules {
		from := m.TagSource
		if from == "" && mode != "react" {
			from = source
		}
		if tags(m) && from != "" {
			m.Imports = append(m.Imports, jsparse.Import{Specifier: from + functions, Static: true})
		}
	}
	if p.options["experimentalDecorators"] == nil && slices.ContainsFunc(modules, func(m Module) bool { return m.Decorated }) &&
		slices.ContainsFunc(modules, legacy) {
		p.options["experimentalDecorators"] = true
		p.options["emitDecoratorMetadata"] = true
	}
}

// tagSources are the packages that have functions for tags, and where.
var tagSources = map[string]string{"react": "", "preact": "", "hono": "/jsx", "@hono/hono": "/jsx", "vue": "", "solid-js": "/h"}

// hosted matches a package's address at a server of modules.
var hosted = lazyregexp.New(`^(https?://[^/]+/(?:[^?#]*/)?)((?:@hono/)?[a-z-]+)(@[\w.^~-]+)?(?:/[^?#]*)?$`)

// tagSource returns the package for tags that the modules import first, in the
// version that they name. Without one it is React.
func tagSource(modules []Module) string {
	for _, m := range modules {
		for _, i := range m.Imports {
			p, ok := Split(i.Specifier)
			if !ok {
				if at := hosted.FindStringSubmatch(i.Specifier); at != nil {
					if sub, known := tagSources[strings.TrimSuffix(at[2], "-dom")]; known {
						return at[1] + strings.TrimSuffix(at[2], "-dom") + at[3] + sub
					}
				}
				continue
			}
			if p.Name == "preact-render-to-string" {
				return "preact"
			}
			p.Name = strings.TrimSuffix(p.Name, "-dom")
			if sub, known := tagSources[p.Name]; known {
				p.Path = ""
				if p.Version == "" { // as the packages argument or the configuration has it
					return strings.TrimPrefix(p.String(), "npm:") + sub
				}
				return p.String() + sub
			}
		}
	}
	return "react"
}

// legacyPackages are packages, or their scopes, whose decorators are those before
// the standard.
var legacyPackages = []string{
	"reflect-metadata", "class-validator", "class-transformer", "typeorm", "@nestjs/", "inversify", "tsyringe", "typedi", "type-graphql",
	"routing-controllers", "sequelize-typescript", "@typegoose/", "@mikro-orm/", "@angular/", "lit/decorators", "lit-element", "mobx-angular",
}

// legacy reports whether a module shows that it means the decorators before the
// standard, with metadata.
func legacy(m Module) bool {
	return m.Decorated && (m.Legacy || m.Target && !m.Standard) || slices.ContainsFunc(m.Imports, func(i jsparse.Import) bool {
		return slices.ContainsFunc(legacyPackages, func(name string) bool {
			spec := strings.TrimPrefix(i.Specifier, "npm:")
			return strings.HasPrefix(spec, name) && (strings.HasSuffix(name, "/") || strings.Contains("/@", (spec + "/")[len(name):len(name)+1]))
		})
	})
}
