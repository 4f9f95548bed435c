package deno

import (
	"regexp"
	"strings"
	"testing"

	"coderunner/internal/sample"
	"coderunner/runners"
)

// mockedFiles are what the tests of TestMockedModules replace and import.
var mockedFiles = map[string]string{
	"db.ts":            "export const load = async (id: number) => 'real' + id\nexport const save = async () => { throw new Error('no db') }\nexport class Pool { query() { return 1 } }\nexport default { load }",
	"service.ts":       "import { load, save } from './db'\nexport const greet = async (id: number) => 'Hello ' + await load(id)\nexport const store = () => save()\nexport const count = { n: 0 }",
	"old.js":           "exports.find = () => { throw new Error('no db') }; exports.limits = { max: 5 }",
	"uses.js":          "const old = require('./old'); exports.get = () => old.find().toUpperCase()",
	"rc.ts":            "import fs from 'node:fs'\nexport const read = () => fs.existsSync('rc') ? fs.readFileSync('rc', 'utf8') : 'none'",
	"mode.ts":          "export const mode = process.env.MODE ?? 'dev'",
	"app.ts":           "import { mode } from './mode'\nexport const banner = () => 'mode ' + mode\nexport const fail = () => { throw new Error('in app') }",
	"api.ts":           "export const fetchUser = () => fetch('/')",
	"checks.ts":        "export const same = (a: unknown, b: unknown) => { expect(a).toEqual(b) }",
	"__mocks__/api.ts": "export const fetchUser = async () => 'manual'",
}

// TestMockedModules has tests replace modules before they are loaded.
func TestMockedModules(t *testing.T) {
	r := open(t, "", nil)
	const vitest = "import { beforeEach, expect, it, vi } from 'vitest'\n"
	const passed = `ok \| \d passed \| 0 failed`
	for _, tt := range sample.Of(t, 2, []struct {
		name, code string
		status     runners.Status
		stdout     string // a regular expression
	}{
		{"a factory", vitest + "import { greet, store } from './service'\nimport { load } from './db'\nvi.mock('./db', () => ({\n  load: vi.fn(),\n}))\nit('a', async () => { vi.mocked(load).mockResolvedValue('Ann'); expect(await greet(1)).toBe('Hello Ann'); expect(load).toHaveBeenCalledWith(1) })\nit('b', () => store())", runners.Failed,
			`(?s)a \.\.\. ok.*b => ./main.ts:8\nerror: Error: No "save" export is defined on the mock of "./db": return it from the factory.*\n    at store \(service.ts:3\)\n    at .*main.ts:8\)`},
		{"what is hoisted", vitest + "import { greet, store } from './service'\nimport type { Foo } from './types'\nconst { save, more: [again] } = vi.hoisted(() => ({ save: vi.fn(() => 'saved'), more: [2] }))\nvi.mock(import('./db'), async (importOriginal) => ({ ...(await importOriginal()), save }))\nit('a', async () => { expect(await store()).toBe('saved'); expect(await greet(again)).toBe('Hello real2') })", runners.Succeeded, passed},
		{"too early", vitest + "import { greet } from './service'\nconst load = vi.fn()\nvi.mock('./db', () => ({ load }))\nit('a', () => greet(1))", runners.Failed, `^$`},
		{"too late", vitest + "import { greet } from './service'\nit('a', () => { vi.mock('./db', () => ({})) })", runners.Failed, `vi.mock\("./db"\) comes after the module was loaded: move it out of the function`},
		{"automatic", vitest + "import { greet } from './service'\nimport * as db from './db'\nvi.mock('./db')\nit('a', async () => { vi.mocked(db.load).mockResolvedValueOnce('x'); expect(await greet(1)).toBe('Hello x'); expect(await greet(1)).toBe('Hello undefined'); expect(new db.Pool().query()).toBeUndefined(); expect(db.Pool).toHaveBeenCalledOnce() })", runners.Succeeded, passed},
		{"a manual mock", vitest + "import { fetchUser } from './api'\nvi.mock('./api')\nit('a', async () => expect(await fetchUser()).toBe('manual'))", runners.Succeeded, passed},
		{"modules again", vitest + "beforeEach(() => { vi.resetModules() })\nit('a', async () => { const { banner } = await import('./app'); expect(banner()).toBe('mode dev') })\nit('b', async () => { vi.doMock('./mode', async () => ({ ...(await vi.importActual('./mode')), mode: 'fake' })); const { banner } = await import('./app'); expect(banner()).toBe('mode fake'); vi.doUnmock('./mode') })\nit('c', async () => { vi.stubEnv('MODE', 'prod'); const { banner, fail } = await import('./app'); expect(banner()).toBe('mode prod'); fail() })", runners.Failed,
			`(?s)a \.\.\. ok.*b \.\.\. ok.*c => .*error: Error: in app\n    at fail \(app.ts:3\)`},
		{"spies on a module", vitest + "import * as db from './db'\nimport { greet } from './service'\nit('a', async () => { const spy = vi.spyOn(db, 'load').mockResolvedValue('spied'); expect(await greet(3)).toBe('Hello spied'); expect(spy).toHaveBeenCalledWith(3); vi.restoreAllMocks(); expect(await greet(3)).toBe('Hello real3') })", runners.Succeeded, passed},
		{"a file expects", "import { same } from './checks'; it('a', () => same([1], [1])); it('b', () => same(1, 2))", runners.Failed, `(?s)a \.\.\. ok.*b \.\.\. FAILED.*Expected: 2`},
		{"spies on Node's", "import * as fs from 'fs'; import { read } from './rc'; test('a', () => { jest.spyOn(fs, 'existsSync').mockReturnValue(true); jest.spyOn(fs, 'readFileSync').mockReturnValue('x'); expect(read()).toBe('x'); jest.restoreAllMocks(); expect(read()).toBe('none') })", runners.Succeeded, passed},
		{"jest's modules of Node", "import { readFileSync } from 'fs'; import { read } from './rc'; jest.mock('fs', () => ({ ...jest.requireActual('fs'), existsSync: () => true, readFileSync: jest.fn(() => 'mocked') })); jest.mock('./gone', () => ({ __esModule: true, default: 7 }), { virtual: true }); import gone from './gone'; test('a', () => { expect(read() + gone).toBe('mocked7'); expect(readFileSync).toHaveBeenCalledTimes(1) })", runners.Succeeded, passed},
		{"what is required", "const { get } = require('./uses'); const old = require('./old'); jest.mock('./old'); test('a', () => { old.find.mockReturnValue('ann'); expect(get()).toBe('ANN'); expect(old.limits.max).toBe(5); jest.isolateModules(() => expect(require('./uses').get).not.toBe(get)) }); test('b', () => { expect(() => jest.requireActual('./old').find()).toThrow('no db') })", runners.Succeeded, passed},
		{"what imports is required", "const { greet } = require('./service'); jest.mock('./db', () => ({ load: () => 1 })); test('a', () => greet())", runners.Failed, `^$`},
		{"no such package", vitest + "import { track } from 'zz-no-such-package-of-ours'\nvi.mock('zz-no-such-package-of-ours', () => ({ track: vi.fn(() => 5) }))\nit('a', () => expect(track()).toBe(5))", runners.Succeeded, passed},
		{"bun", "import { expect, it, mock } from 'bun:test'; import { greet } from './service'; mock.module('./db', () => ({ load: () => 'bun', save() {} })); it('a', async () => expect(await greet(1)).toBe('Hello bun'))", runners.Succeeded, passed},
		{"node", "import test, { mock } from 'node:test'; import assert from 'node:assert'; test('a', async () => { mock.module('./mode.ts', { namedExports: { mode: 'node' } }); const { banner } = await import('./app.ts'); assert.equal(banner(), 'mode node') })", runners.Succeeded, passed},
		{"names", vitest + "import { greet, gret } from './service'\nvi.mock('./db')\nit('a', () => {})", runners.Failed, `^$`},
		{"the host's files", vitest + "vi.mock('/etc/passwd')\nit('a', async () => { await expect(vi.importActual('/etc/passwd')).rejects.toThrow(/not found|no such file|read access/i); await expect(import('/etc/hostname')).rejects.toThrow(/not found|no such file|read access/i); expect(() => vi.requireActual('/etc/hosts')).toThrow(/find|no such file|read access/i) })", runners.Succeeded, passed},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			req := runners.Request{Code: tt.code}
			for name, text := range mockedFiles {
				req.Files = append(req.Files, runners.File{Path: name, Data: []byte(text)})
			}
			o := run(t, r, req)
			if o.Status != tt.status || !regexp.MustCompile(tt.stdout).MatchString(o.Stdout) {
				t.Errorf("%s, %+v\n%s\n%s", o.Status, o.Error, o.Stdout, o.Stderr)
			}
			if strings.Contains(o.Stdout, "file:") || strings.Contains(o.Stdout, "data:") || strings.Contains(o.Stdout, "reset=") {
				t.Errorf("it names our files:\n%s", o.Stdout)
			}
		})
	}
	for code, want := range map[string]struct {
		line    int
		message string
	}{
		vitest + "import { greet } from './service'\nconst load = vi.fn()\nvi.mock('./db', () => ({ load }))\nit('a', () => greet(1))": {4, "Cannot access 'load' before initialization: the mock of \"./db\" is made before the imports of the file; write const { load } = vi.hoisted("},
		"const { greet } = require('./service')\njest.mock('./db', () => ({ load: () => 1 }))\ntest('a', () => greet())":               {1, `require("./service") of a module that imports "./db", which is mocked: write await import("./service")`},
		vitest + "import { greet, gret } from './service'\nvi.mock('./db')\nit('a', () => {})":                                         {2, "The requested module './service' does not provide an export named 'gret'"},
		vitest + "import { greet } from './servce'\nvi.mock('./db')\nit('a', () => {})":                                                {2, `Module not found "./servce"`},
		vitest + "vi.mock('./db', () => 5)\nimport { greet } from './service'\nit('a', () => {})":                                      {0, `vi.mock("./db", factory): the factory returns 5, and not an object`},
	} {
		req := runners.Request{Code: code}
		for name, text := range mockedFiles {
			req.Files = append(req.Files, runners.File{Path: name, Data: []byte(text)})
		}
		if o := run(t, r, req); o.Error == nil || o.Error.Line != want.line || !strings.HasPrefix(o.Error.Message, want.message) {
			t.Errorf("%s\n%+v\n%s", code, o.Error, o.Stdout)
		}
	}
}
