package deps

import (
	"regexp"
	"slices"
)

// companion is a package that another one loads by a name in the program's text, or
// without one there.
type companion struct {
	with string         // the package that loads it
	text *regexp.Regexp // the text that asks for it; its group is the name, if that is ""
	name string
}

// companions are packages that nothing imports. A wrong guess stops no program.
var companions = []companion{
	{"@babel/core", regexp.MustCompile(`["'](@babel/(?:preset|plugin)-[\w-]+|babel-(?:preset|plugin)-[\w-]+)["']`), ""},
	{"@nestjs/common", regexp.MustCompile(`\b(?:ValidationPipe|ClassSerializerInterceptor)\b`), "class-transformer"},
	{"@nestjs/common", regexp.MustCompile(`\bValidationPipe\b`), "class-validator"},
	{"@nestjs/core", regexp.MustCompile(`\bNestFactory\.create\b`), "@nestjs/platform-express"},
	{"@nestjs/testing", regexp.MustCompile(`\bcreateNestApplication\b`), "@nestjs/platform-express"},
	{"express", regexp.MustCompile(`["']view engine["']\s*,\s*["']([a-z][\w-]*)["']`), ""},
	{"fastify", regexp.MustCompile(`\btarget:\s*["'](pino-[\w-]+)["']`), ""},
	{"knex", regexp.MustCompile(`\bclient:\s*["']((?:better-)?sqlite3)["']`), ""},
	{"pino", regexp.MustCompile(`\btarget:\s*["'](pino-[\w-]+)["']`), ""},
	{"prettier", regexp.MustCompile(`["']((?:@[\w-]+/)?prettier-plugin-[\w-]+|@prettier/plugin-\w+)["']`), ""},
	{"sequelize", regexp.MustCompile(`["']sqlite(?::|["'])`), "sqlite3"},
	{"stylelint", regexp.MustCompile(`["'](stylelint-config-[\w-]+)["']`), ""},
	{"tsup", regexp.MustCompile(`\A`), "typescript"},
	{"typeorm", regexp.MustCompile(`\btype:\s*["'](better-sqlite3)["']`), ""},
	{"typeorm", regexp.MustCompile(`\btype:\s*["']sqlite["']`), "sqlite3"},
	{"typeorm", regexp.MustCompile(`\btype:\s*["']sqljs["']`), "sql.js"},
	{"webpack", regexp.MustCompile(`["']([\w-]+-loader)["']`), ""},
}

// SharpWasm is sharp's machine code as WebAssembly. sharp itself looks for it only where
// it knows no machine code for the machine.
const SharpWasm = "@img/sharp-wasm32"

// maxCompanions bounds those that one file names.
const maxCompanions = 20

// accompany adds the packages that those of a file load.
func (r *resolution) accompany(m Module) {
	for _, i := range m.Imports {
		p, ok := Split(i.Specifier)
		if ok && p.Name == "sharp" && !r.project.Native {
			specifier := Package{Registry: "npm", Name: SharpWasm, Version: p.Version}.String()
			r.target(specifier, SharpWasm, scopedName{"", SharpWasm})
		}
		for _, c := range companions {
			if !ok || c.with != p.Name {
				continue
			}
			for _, found := range c.text.FindAllStringSubmatch(m.Source, maxCompanions) {
				name := c.name
				if name == "" {
					name = found[1]
				}
				if specifier, ok := r.fetched(name, false); ok {
					r.target(specifier, name, scopedName{"", name})
				}
			}
		}
	}
}

// With returns d with packages that others of it import and that nothing else names.
func (d Dependencies) With(names []string) Dependencies {
	d.Targets = slices.Clip(d.Targets)
	for _, name := range names {
		d.Targets = append(d.Targets, Target{Specifier: "npm:" + name, Asked: name, names: []scopedName{{"", name}}})
	}
	return d
}
