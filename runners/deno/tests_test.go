package deno

import (
	"regexp"
	"strings"
	"testing"

	"coderunner/internal/sample"
	"coderunner/runners"
)

// TestRegisteredTests has programs register tests, which run when the program
// has come to its end.
func TestRegisteredTests(t *testing.T) {
	r := open(t, "", nil)
	const node = "import test, { describe, it, before, beforeEach } from 'node:test'; import assert from 'node:assert';\n"
	for _, tt := range sample.Of(t, 3, []struct {
		name, code string
		status     runners.Status
		stdout     string // a regular expression
	}{
		{"node passes", node + "test('a', () => assert.equal(1, 1)); console.log('end')", runners.Succeeded, `^end\nrunning 1 test from ./main.ts\na \.\.\. ok .*\n\nok \| 1 passed \| 0 failed`},
		{"node fails", node + "test('a', () => {}); test('b', async () => { await 1; assert.strictEqual(1, 2) })", runners.Failed, `(?s)a \.\.\. ok.*b \.\.\. FAILED.*ERRORS.*b => ./main.ts:2\nerror: AssertionError.*1 !== 2\n    at .*main.ts:2.*FAILED \| 1 passed \| 1 failed`},
		{"node subtests", node + "test('a', async (t) => { await t.test('b', () => {}); await t.test('c', () => { throw new Error('no') }) })", runners.Failed, `(?s)\n  b \.\.\. ok.*\n  c \.\.\. FAILED.*a \.\.\. FAILED \(due to 1 failed step\).*a \.\.\. c => .*error: Error: no`},
		{"describe", node + "describe('g', () => { before(() => console.log('before')); beforeEach(() => console.log('each')); it('w', () => {}); it('x', async () => { await 1; throw new Error('no') }) })", runners.Failed, `(?s)before\ng \.\.\.\neach\n  w \.\.\. ok.*each\n  x \.\.\. FAILED`},
		{"node skip", node + "test.skip('a', () => { throw 1 }); test('b', { skip: true }, () => { throw 1 }); test.todo('c')", runners.Succeeded, `ok \| 0 passed \| 0 failed \| 3 ignored`},
		{"node awaited", node + "await test('a', () => { throw new Error('no') }); console.log('after')", runners.Failed, `(?s)after.*FAILED \| 0 passed \| 1 failed`},
		{"mocks are restored", node + "import { mock } from 'node:test'; const o = { f: () => 1, g: () => 1 }; mock.method(o, 'g', () => 3); test('a', (t) => { t.mock.method(o, 'f', () => 2); assert.equal(o.f(), 2) }); test('b', () => assert.equal(o.f() + o.g(), 4))", runners.Succeeded, `2 passed \| 0 failed`},
		{"timers are restored", node + "const later = (ms) => new Promise((r) => setTimeout(() => r('late'), ms)); const faked = async (t) => { t.mock.timers.enable({ apis: ['setTimeout'] }); const p = later(1000); t.mock.timers.tick(1000); assert.equal(await p, 'late') }; const real = async () => assert.equal(await later(5), 'late'); test('a', faked); test('b', real); test('c', (t) => { t.mock.timers.enable(); t.mock.timers.reset() }); describe('g', () => { it('d', faked); it('e', real); it('f', faked) })", runners.Succeeded, `4 passed \(3 steps\) \| 0 failed`},
		{"deno passes", "Deno.test('a', () => {}); Deno.test({ name: 'b', fn() {} }); Deno.test(function c() {}); Deno.test('d', {}, async () => { await 1 })", runners.Succeeded, `ok \| 4 passed \| 0 failed`},
		{"deno fails", "Deno.test('a', () => { throw new TypeError('boom') })", runners.Failed, `(?s)a \.\.\. FAILED.*error: TypeError: boom\n    at main.ts:1`},
		{"steps", "Deno.test('a', async (t) => { await t.step('b', async (t) => { await t.step('c', () => { throw 1 }) }); console.log('goes on') })", runners.Failed, `(?s)c \.\.\. FAILED.*goes on.*0 passed \| 1 failed \(2 steps\)`},
		{"step not awaited", "Deno.test('a', (t) => { t.step('b', async () => { await new Promise((r) => setTimeout(r, 10)) }) })", runners.Failed, `still test steps running`},
		{"only", "Deno.test.only('a', () => {}); Deno.test('b', () => { throw 1 })", runners.Succeeded, `running 1 test .*\na \.\.\. ok(?s).*1 filtered out`},
		{"ignore", "Deno.test.ignore('a', () => { throw 1 }); Deno.test({ name: 'b', ignore: true, fn() { throw 1 } })", runners.Succeeded, `2 ignored`},
		{"hooks", "for (const h of ['beforeAll', 'afterAll', 'beforeEach', 'afterEach']) for (const i of [1, 2]) Deno.test[h](() => console.log(h, i)); Deno.test('a', () => console.log('test'))", runners.Succeeded,
			`beforeAll 1\nbeforeAll 2\nbeforeEach 1\nbeforeEach 2\ntest\nafterEach 2\nafterEach 1\na .*\nafterAll 2\nafterAll 1\n`},
		{"a hook fails", "Deno.test.beforeEach(() => { throw new Error('hook') }); Deno.test('a', () => console.log('never'))", runners.Failed, `(?s)error: Error: hook.*0 passed \| 1 failed`},
		{"each", "Deno.test.each([[1, 2], [2, 3]])('%d %s', (a, b) => { if (a === 2) throw 1 })", runners.Failed, `(?s)1 2 \.\.\. ok.*2 3 \.\.\. FAILED`},
		{"some timers of vitest", "import { expect, it, vi } from 'vitest'; it('a', async () => { vi.useFakeTimers({ toFake: ['Date'] }); vi.setSystemTime('2024-05-05'); await new Promise((r) => setTimeout(r, 1)); expect(new Date().getFullYear()).toBe(2024); vi.useRealTimers(); vi.setSystemTime(new Date(2020, 1)); await new Promise((r) => setTimeout(r, 1)); expect(new Date().getFullYear()).toBe(2020); vi.useRealTimers(); expect(new Date().getFullYear()).toBeGreaterThan(2025) })", runners.Succeeded, `1 passed`},
		{"forms of vitest", "import { expect, it, vi } from 'vitest'; it('a', async ({ expect }) => { await expect(Promise.reject(new Error('x'))).rejects.toThrowError('x') }); it.fails('b', async () => { throw 1 }); it('c', () => { vi.stubGlobal('fetch', 5); expect(fetch).toBe(5); vi.unstubAllGlobals(); expect(fetch).not.toBe(5) })", runners.Succeeded, `ok \| 3 passed \| 0 failed`},
		{"exits", "Deno.test('a', () => Deno.exit(0)); Deno.test('b', () => {})", runners.Failed, `(?s)attempted to exit with exit code: 0.*1 passed \| 1 failed`},
		{"sets the exit code", "Deno.test('a', () => { Deno.exitCode = 0; Deno.exitCode = 4 })", runners.Failed, `finished with exit code set to 4`},
		{"nobody catches", "Deno.test('a', async () => { setTimeout(() => { throw new Error('late') }, 1); await new Promise((r) => setTimeout(r, 50)) }); Deno.test('b', async () => { Promise.reject(new Error('rej')); await new Promise((r) => setTimeout(r, 50)) }); Deno.test('c', () => {})", runners.Failed,
			`(?s)error: Error: late.*error: Error: rej.*1 passed \| 2 failed`},
		{"never ends", "Deno.test('a', () => new Promise(() => {})); Deno.test('b', () => {})", runners.Failed, `(?s)a \.\.\. FAILED.*b \.\.\. ok.*Promise resolution is still pending`},
		{"prototypes", "Array.prototype.push = Array.prototype.filter = String.prototype.slice = () => { throw 1 }; Deno.test('a', () => { throw new Error('no') })", runners.Failed, ``},
		{"globals", "before(() => console.log('root')); describe('g', function () { this.timeout(9); it('done', (done) => setTimeout(done)); it('fails', (done) => done(new Error('no'))); it.each([[1, { a: 2 }]])('%i %j', (a, b) => { if (a + b.a !== 3) throw 1 }); it.todo('later') })", runners.Failed,
			`(?s)^running 1 .*root\ng \.\.\.\n  done \.\.\. ok .*fails \.\.\. FAILED.*  1 {"a":2} \.\.\. ok.*later \.\.\. ignored.*error: Error: no`},
		{"own test", "const all = []; const test = (name, f) => all.push(f); test('a', () => console.log('own')); all[0]()", runners.Succeeded, `^own\n$`},
		{"jest", "describe('g', () => { beforeEach(() => { jest.useFakeTimers() }); it('a', () => { const f = jest.fn(); setTimeout(f, 100); jest.advanceTimersByTime(99); expect(f).not.toHaveBeenCalled(); jest.advanceTimersByTime(1); expect(f).toHaveBeenCalledTimes(1) }) }); test('b', () => expect({ a: 1 }).toEqual({ a: 2 })); module.exports = {}", runners.Failed,
			`(?s)  a \.\.\. ok.*b \.\.\. FAILED.*expect\(received\)\.toEqual\(expected\)`},
		{"matchers of vitest", "import { expect, it, vi } from 'vitest'; it('a', () => { const f = vi.fn(), g = vi.fn(); f(1, { a: 2 }); g(); expect(f).toHaveBeenCalledExactlyOnceWith(1, { a: 2 }); expect(f).toHaveBeenCalledBefore(g); expect(g).toHaveBeenCalledAfter(f); expect(2).toSatisfy((n) => n > 1); expect('a').toBeTypeOf('string'); expect(2).toBeOneOf([1, 2]); expect(2).not.toBeOneOf([1]) }); it('b', () => expect('x').toBeTypeOf('number'))", runners.Failed, `(?s)a \.\.\. ok.*expected "x" to be of type number`},
		{"timers are counted", "import { afterEach, expect, it, vi } from 'vitest'; afterEach(() => { vi.useRealTimers() }); it('a', async () => { expect(vi.isFakeTimers()).toBe(false); vi.useFakeTimers(); const seen = []; setTimeout(() => seen.push('b'), 50); const i = setInterval(() => seen.push('i'), 20); clearTimeout(setTimeout(() => {}, 1)); expect(vi.getTimerCount()).toBe(2); vi.advanceTimersToNextTimer(); expect(seen).toEqual(['i']); vi.advanceTimersToNextTimer(); vi.advanceTimersToNextTimer(); expect(seen).toEqual(['i', 'i', 'b']); clearInterval(i); expect(vi.getTimerCount()).toBe(0); setTimeout(() => seen.push('c'), 5); vi.clearAllTimers(); vi.advanceTimersByTime(10); expect(seen).toHaveLength(3) }); it('b', async () => { expect(vi.isFakeTimers()).toBe(false); let n = 0; expect(await vi.waitUntil(() => ++n > 2 && n)).toBe(3) })", runners.Succeeded, `ok \| 2 passed`},
		{"mocha", "import { describe, it } from 'mocha'; describe('g', function () { this.timeout(9); it('w', () => {}) })", runners.Succeeded, `g \.\.\.\n  w \.\.\. ok`},
		{"mocha by its class", "import Mocha, { Suite } from 'mocha'; const m = new Mocha({ reporter: 'dot' }); Suite.create(m.suite, 'S').addTest(new Mocha.Test('t', () => {})); m.run((n) => console.log(n, 'failed'))", runners.Succeeded, `0 failed`},
		{"vitest", "import { describe, it, expect, vi } from 'vitest'; const o = { f: () => 1 }; describe.each([{ a: 1 }])('g $a', ({ a }) => { it('w', () => { const f = vi.spyOn(o, 'f').mockReturnValue(2); expect(o.f()).toBe(2 * a); expect(f).toHaveBeenCalledOnce() }) })", runners.Succeeded, `g 1 \.\.\.\n  w \.\.\. ok`},
		{"a module is replaced", "import { expect, it, vi } from 'vitest'; it('a', async () => { const path = await import('node:path'); vi.spyOn(path, 'join') }); it('c', async () => { const path = await import('node:path'); vi.spyOn(path.posix, 'join').mockReturnValue('x'); expect(path.posix.join('a')).toBe('x') })", runners.Failed,
			`(?s)c \.\.\. ok.*spyOn cannot replace what a module exports \(join\): pass .* as an argument, or have the module export an object \(export const api = { join }\) and use spyOn`},
		{"only in a group", "describe('g', () => { it.only('a', () => {}); it('b', () => { throw 1 }); describe('in', () => { it('c', () => { throw 1 }) }) }); describe.only('h', () => { it('d', () => {}) }); it('e', () => { throw 1 }); describe.skip('s', () => { it.only('f', () => { throw 1 }) })", runners.Succeeded,
			`(?s)  a \.\.\. ok.*  b \.\.\. ignored.*  in \.\.\. ignored.*  d \.\.\. ok.*2 passed \(2 steps\) \| 0 failed \| 2 filtered out`},
		{"frameworks that are required", "const { jest, test, expect } = require('@jest/globals'); const { it } = require('mocha'); const f = jest.fn(() => 2); test('a', () => { expect(f()).toBe(2) }); it('b', () => {}); exports.f = f", runners.Succeeded, `(?s)a \.\.\. ok.*b \.\.\. ok`},
		{"a page", "import { render, screen } from '@testing-library/react'; import '@testing-library/jest-dom/vitest'; import { expect, it } from 'vitest'; import { createElement, useState } from 'react'; function C() { const [n, set] = useState(0); return createElement('button', { onClick: () => set(n + 1) }, n) }; it('a', async () => { render(createElement(C)); screen.getByRole('button').click(); expect(await screen.findByText('1')).toBeInTheDocument() }); it('b', () => { render(createElement(C)); expect(screen.getByRole('button')).toHaveTextContent('0'); let seen; window.addEventListener('resize', () => { seen = true }); window.dispatchEvent(new Event('resize')); expect(seen).toBe(true) })", runners.Succeeded,
			`(?s)a \.\.\. ok.*b \.\.\. ok`},
		{"snapshots", "test('same', () => { expect({ a: ['x'] }).toMatchInlineSnapshot(`\n    {\n      \"a\": [\n        \"x\",\n      ],\n    }\n  `); expect(1).toMatchSnapshot(); expect(() => { throw new Error('no') }).toThrowErrorMatchingInlineSnapshot('\"no\"') }); test('other', () => expect('x').toMatchInlineSnapshot('\"y\"'))", runners.Failed,
			`(?s)same \.\.\. ok.*other \.\.\. FAILED.*the snapshot is\n"y"\nand the value\n"x"`},
		{"mocha with a global", "import { describe, it } from 'mocha'; let n = 0; beforeEach(() => { n = 5 }); describe('g', () => { it('w', () => { if (n !== 5) throw n }) })", runners.Succeeded, `g \.\.\.\n  w \.\.\. ok`},
		{"vitest with globals", "import { expect } from 'vitest'; test('w', () => { expect(vi.fn()).not.toHaveBeenCalled() })", runners.Succeeded, `w \.\.\. ok`},
		{"soft", "import { expect, it } from 'vitest'; it('a', async () => { expect.soft(1).toBe(2)\nawait expect.soft(Promise.resolve(3)).resolves.not.toBe(3); console.log('goes on'); expect(5).toBe(6) }); it('b', () => { expect.soft(1).toBe(1) }); it.fails('c', () => { expect.soft(1).toBe(2) })", runners.Failed,
			`(?s)goes on.*b \.\.\. ok.*c \.\.\. ok.*Expected: 2\nReceived: 1\n\nand \(main.ts:2\): .*not\.toBe.*and \(main.ts:2\): .*Expected: 6.*    at .*main.ts:1`},
		{"assertions are counted", "describe('g', () => { beforeEach(() => { expect.hasAssertions() }); it('a', () => {}); it('b', () => { expect(1).toBe(1) }) }); it('c', async () => { expect.assertions(2); await expect(Promise.resolve(1)).resolves.toBe(1) }); it('d', () => { expect.assertions(1); expect(1).toBe(1) }); it('e', () => {})", runners.Failed,
			`(?s)  a \.\.\. FAILED.*  b \.\.\. ok.*c \.\.\. FAILED.*d \.\.\. ok.*e \.\.\. ok.*at least one assertion to be called but received none\.\n    at .*main.ts:1.*two assertions to be called but received one assertion call`},
		{"polled", "import { expect, it } from 'vitest'; it('a', async () => { let n = 0; await expect.poll(() => ++n).toBe(3); await expect.poll(() => n++).not.toBe(3); expect(n).toBe(5) }); it('b', () => { expect.unreachable('no way') })", runners.Failed, `(?s)a \.\.\. ok.*error: Error: no way`},
		{"thrown before", "Deno.test('a', () => {}); throw new Error('top')", runners.Failed, `^$`},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			o := run(t, r, runners.Request{Code: tt.code})
			code := map[runners.Status]int{runners.Succeeded: 0, runners.Failed: 1}[tt.status]
			if o.Status != tt.status || o.ExitCode != code || !regexp.MustCompile(tt.stdout).MatchString(o.Stdout) {
				t.Errorf("%s, exit code %d, %+v\n%s\n%s", o.Status, o.ExitCode, o.Error, o.Stdout, o.Stderr)
			}
			if strings.Contains(o.Stdout, "file:") || strings.Contains(o.Stdout, "bootstrap") {
				t.Errorf("it names our files:\n%s", o.Stdout)
			}
		})
	}
}
