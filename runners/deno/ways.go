package deno

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/jsparse"
)

// way is what to do about an error whose message does not say it.
type way struct {
	message *regexp.Regexp
	out     string
}

// unresolved is Deno's message about a program that waits for what cannot happen.
const unresolved = "Top-level await promise never resolved"

const (
	noFile   = "the argument files puts files beside the program (--file on the command line)"
	notNet   = "the permissions of this server do not include --allow-net"
	notUnix  = "there are no Unix sockets for JavaScript; a port of 127.0.0.1 does the same where --allow-net has it"
	notRun   = "the program could not start another: the permissions of this server do not include --allow-run"
	ownRuns  = `the sandbox has processes of its own in language "bash" and in Python's subprocess`
	tests    = `tests run with node:test or Deno.test: import { describe, it } from "node:test" and { expect } from "expect"`
	noWindow = "there is no browser; jsdom, linkedom and cheerio read a page, which fetch gets"
	noNative = "node:sqlite, bcryptjs, jimp and SVG need no native library"
	noMock   = "this address is not mocked: name it, import msw (what is required has another fetch), or assign to globalThis.fetch"
	named    = `a newer version may have only names: import * as all of them, or an older version ("npm:NAME@MAJOR")`
	notPage  = `this is an HTML page, and there is no browser: send its script alone, or write the page to a file`
	accessor = `Deno knows "accessor" only beside a decorator: write a getter and a setter`
	oldTypes = `typescript has its compiler's functions up to version 6: import "npm:typescript@5"`
)

// browsers are packages that start a browser.
var browsers = []string{"puppeteer", "puppeteer-core", "playwright", "playwright-core", "@playwright/test", "selenium-webdriver"}

// runRefused matches messages about a program that could not be started.
var runRefused = regexp.MustCompile(`the permissions of this server do not include (it \(--allow-run\)|--allow-run)$`)

// notFunction matches messages about what a module does not have.
var notFunction = regexp.MustCompile(`is not a function$|^Cannot read properties of undefined`)

// page matches the beginning of an HTML page.
var page = regexp.MustCompile(`^(?i)\s*<(!doctype html|html[\s>])`)

// accessors matches fields that have a getter and a setter of their own.
var accessors = regexp.MustCompile(`\baccessor[ \t]+[\w$#]`)

// ways are the messages of Deno and of packages that many programs meet.
var ways = []way{
	{regexp.MustCompile(`^No such file or directory \(os error 2\)$`), "a program finds its working directory and what --allow-read names"},
	{regexp.MustCompile(`^(Command failed|Failed to spawn|spawn |spawnSync )`), notRun},
	{regexp.MustCompile(`^(connect|listen) EACCES(: permission denied)? [^:]+$`), notUnix}, // with a path
	{regexp.MustCompile(`^No quote function is defined`), notRun},                          // zx's, which finds no shell
	{regexp.MustCompile(`^(TypeError: Cannot resolve module "(puppeteer-core|\./node-env-setup\.js)"|browserType\.launch: |Could not find Chrom|Failed to launch the browser|Unable to obtain browser driver|Playwright Test did not expect )`), noWindow},
	{regexp.MustCompile(`Please run "npm install (better-)?sqlite3`), `type: "sqljs" needs no machine code`}, // typeorm's
	{regexp.MustCompile(`(?m)^Please install (sqlite3|pg-native|tedious) package|^Cannot find module '(better-)?sqlite3'`), noNative},
	{regexp.MustCompile(`^(Module not found "\./|Cannot find module '\.)`), noFile},
	{regexp.MustCompile(`^unable to determine transport target for |Please run "npm install |^Please install \S+ package manually|\n\$ npm install `), deps.Named}, // pino's, typeorm's
	{regexp.MustCompile(`^(getaddrinfo|connect|listen|bind) (EPERM|EACCES)\b`), notNet},
	{regexp.MustCompile(`^(describe|it|test|expect|beforeEach|afterEach|beforeAll|afterAll|jest|vi) is not defined$`), tests},
	{regexp.MustCompile(`^Unexpected reserved word$`), "await stands in async functions and at the top level"},
	{regexp.MustCompile(`requires unscoped --allow-read and --allow-write permissions`), "fs.linkSync and fs.copyFileSync do without"},
	{regexp.MustCompile(`^(\$|jQuery) is not defined$`), noWindow},
	{regexp.MustCompile(`^(window|document|XMLHttpRequest|requestAnimationFrame) is not defined$`), noWindow},
	{regexp.MustCompile(`^The requested module '[^./][^']*' does not provide an export named 'default'`), named},
	{regexp.MustCompile(`^Bun is not defined$|^(Import "bun" not|Cannot find module 'bun')|^Unsupported scheme "bun"`), "this is Deno, with the modules of Node (node:test, node:sqlite)"},
	{regexp.MustCompile(`^` + unresolved + `$`), "the program waits for what does not happen, such as a line that stdin does not have"},
}

// wayOut returns what to append to the message of an error, perhaps nothing.
func wayOut(message string, p *jsparse.Program) string {
	for _, w := range ways {
		if w.message.MatchString(message) {
			return "; " + w.out
		}
	}
	if message == "Unexpected end of input" || strings.HasSuffix(message, "got '<eof>'") {
		if bracket, line := jsparse.Unclosed(p.Source); line > 0 {
			return fmt.Sprintf("; the %s of line %d is not closed", bracket, line)
		}
	}
	switch {
	case strings.HasPrefix(message, "Cannot read properties of null") && strings.Contains(p.Source, "prompt("):
		return "; prompt returns null at the end of stdin, which the argument stdin sets"
	case page.MatchString(p.Source):
		return "; " + notPage
	case imports(p, "typescript") && notFunction.MatchString(message):
		return "; " + oldTypes
	case strings.HasPrefix(message, "Unexpected identifier '") && !p.Decorated && accessors.MatchString(p.Source):
		return "; " + accessor
	}
	return ""
}

// amend replaces the message of an error, also in its traceback.
func amend(e *runners.Error, message string) {
	e.Traceback = strings.Replace(e.Traceback, e.Message, message, 1)
	e.Message = message
}

// notJSON is a part of V8's message about a text that is not JSON.
const notJSON = "is not valid JSON"

// badJSON adds to the message about a JSON module that cannot be read, which is V8's, the
// file and the place in it.
func (j *job) badJSON(o *runners.Outcome) {
	e := o.Error
	if o.Status != runners.Failed || e == nil || e.Type != "SyntaxError" || e.Line != 0 || !strings.Contains(e.Message, notJSON) && !strings.Contains(e.Message, "JSON input") {
		return
	}
	for _, f := range j.req.Files {
		var v any
		bad, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(f.Data, &v))
		if !ok || filepath.Ext(f.Path) != ".json" {
			continue
		}
		message := f.Path + ": " + e.Message
		if !strings.Contains(message, "(line ") {
			before := f.Data[:max(bad.Offset-1, 0)]
			message += fmt.Sprintf(" (line %d column %d)", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
		}
		amend(e, message)
		return
	}
}

// imports reports whether a program imports one of some modules, in any version.
func imports(p *jsparse.Program, names ...string) bool {
	return slices.ContainsFunc(p.Imports, func(i jsparse.Import) bool {
		name := i.Specifier
		if of, ok := deps.Split(name); ok {
			name = of.Name + of.Path
		}
		return slices.Contains(names, name)
	})
}
