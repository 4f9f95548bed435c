package deno

import (
	"testing"

	"golang.org/x/tools/txtar"

	"coderunner/internal/sample"
	"coderunner/runners"
)

// TestIdioms has programs in the forms that bundlers, Node and compilers take. A
// program's first line names its file.
func TestIdioms(t *testing.T) {
	r := openParked(t, 1)
	for _, tt := range sample.Of(t, 3, []struct{ name, files, result, stdout string }{
		{"react", `
-- main.ts --
import { renderToString } from "react-dom/server";
import { Title } from "./Title";
renderToString(<Title text="a & b" />)
-- Title.tsx --
export const Title = ({ text }: { text: string }) => <><h1>{text}</h1></>;
`, `"<h1>a &amp; b</h1>"`, ""},
		{"tags in .js", `
-- main.js --
import { renderToString } from "preact-render-to-string";
import App from "./App.js";
renderToString(<App />)
-- App.js --
import { useState } from "preact/hooks";
export default function App() { const [n] = useState(1); return <b>{n}</b>; }
`, `"<b>1</b>"`, ""},
		{"preact by its renderer", `
-- main.tsx --
import { render } from "npm:preact-render-to-string@6";
render(<i>{1}</i>)
`, `"<i>1</i>"`, ""},
		{"hono", `
-- main.tsx --
import { Hono } from "hono";
const app = new Hono();
app.get("/", (c) => c.html(<p>{1 + 1}</p>));
await (await app.request("/")).text()
`, `"<p>2</p>"`, ""},
		{"pragma", `
-- main.tsx --
/** @jsxImportSource npm:preact@10 */
const a = <i/>;
a.type + ("__k" in a)
`, `"itrue"`, ""},
		{"classic", `
-- main.jsx --
/** @jsx h */
function h(...all) { return all }
<a b="c">d</a>
`, `[ "a", { b: "c" }, "d" ]`, ""},
		{"names of deno.json for require", `
-- main.js --
const _ = require("lo"), { a } = require("one"), { b } = require("@/two");
console.log(_.chunk([a, b], 1).length, a, b, typeof require("lo/fp").add);
-- deno.json --
{ "imports": { "lo": "npm:lodash@4", "one": "./src/one.js", "@/": "./src/" } }
-- src/one.js --
exports.a = require("@/two").b - 1;
-- src/two.js --
exports.b = 2;
`, "", "2 1 2 function\n"},
		{"a type beside a decorator", `
-- main.ts --
import { Router, Request } from "express";
const D: any = () => () => {};
class A { @D() m(@D() r: Request) { return typeof Router } }
new A().m({} as any)
`, `"function"`, ""},
		{"mocks of fetch", `
-- main.js --
import nock from "npm:nock@15";
nock("https://host.invalid").get("/a").reply(200, { b: 1 });
new BroadcastChannel("open").unref();
console.log(await (await fetch("https://host.invalid/a")).json());
`, "", "{ b: 1 }\n"},
		{"endings", `
-- main.ts --
import { a } from "./lib";
import { b } from "./lib/b.js";
import { c } from "./c";
[a, b, c, require("./lib/b").b]
-- lib/index.ts --
export const a: number = 1;
-- lib/b.ts --
export const b: number = 2;
-- c.mjs --
export const c = 3;
`, "[ 1, 2, 3, 2 ]", ""},
		{"JSON", `
-- main.ts --
import a from "./a.json";
import { b } from "./b";
[a, b, (await import("./a.json")).default, require("./a.json")]
-- b.ts --
import a from "./a.json"; import c from "./a.json" with { type: "json" };
export const b = [a.x, c.x];
-- a.json --
{"x": 1}
`, "[ { x: 1 }, [ 1, 1 ], { x: 1 }, { x: 1 } ]", ""},
		{"CommonJS", `
-- main.js --
const { twice } = require("./lib"), fp = require("lodash/fp"), axios = require("axios");
function main() { implicit = twice(fp.add(1)(2)); console.log(implicit, typeof axios.get, this === globalThis) }
module.exports = { main };
if (require.main === module) main();
-- lib.js --
const _ = require("lodash");
exports.twice = (n) => _.times(2, () => n).length * n;
if (require.main === module) console.log("not main");
`, "", "6 function true\n"},
		{"CommonJS of TypeScript", `
-- main.ts --
import path = require("path");
import { Point } from "./point";
console.log(new Point(path.sep.length).x);
export = { Point };
-- point.ts --
import assert = require("assert");
class Point { constructor(public x: number) { assert(x) } }
export = { Point };
`, "", "1\n"},
		{"both kinds in a file beside", `
-- main.ts --
import { p } from "./m"; import * as O from "fp-ts/function";
p + O.identity(1)
-- m.ts --
import fs from "fs";
import path = require("path");
export const p = path.sep + typeof fs;
`, `"/object1"`, ""},
		{"return in a block", `
-- main.js --
const fs = require("fs");
if (!fs.existsSync("none")) { console.log("early"); return; }
console.log("late");
`, "", "early\n"},
		{"return at the end", "-- main.js --\nimport 'node:fs'; const x = 2;\nreturn x + 1;\n", "3", ""},
		{"fences", "-- main.ts --\n```ts\nconst x: number = 1;\nx\n```\n", "1", ""},
		{"/dev/stdin", `
-- main.js --
require("fs").readFileSync(process.platform === "linux" ? "/dev/stdin" : "in.txt", "utf8")
`, `""`, ""},
		{"/dev/stdout", `
-- main.js --
const to = require("fs").createWriteStream(process.env.OUTPUT_PATH || "/dev/stdout");
to.end("a\n", () => console.log("b"));
`, "", "a\nb\n"},
		{"files beside the program", `
-- main.js --
const fs = require("fs");
fs.mkdirSync("logs"); fs.writeFileSync("logs/a", ""); fs.writeFileSync("a", "");
fs.cpSync("logs", "copy", { recursive: true, filter: (from, to) => (console.log(from, to), true) }); fs.cpSync("a", "b");
process.chdir("logs"); fs.cpSync("../copy", ".", { recursive: true }); process.chdir("..");
const fd = fs.openSync("x", "w+");
fs.writeSync(fd, "....tail"); fs.writeSync(fd, "HEAD", 0); fs.writeSync(fd, "é", 4, "latin1"); fs.writeSync(fd, ".");
fs.promises.cp("a", "c").then(() => console.log(fs.readdirSync(".").join(), fs.readFileSync("x", "latin1")));
`, "", "logs copy\nlogs/a copy/a\na,b,c,copy,logs,main.js,x HEADéail.\n"},
		{"names of node:fs", `
-- main.mjs --
import { cpSync, existsSync, writeFileSync, writeSync, openSync, readFileSync } from "fs";
import { cp } from "node:fs/promises";
writeFileSync("a", "abc"); await cp("a", "b"); cpSync("a", "c");
writeSync(openSync("c", "r+"), "x", 1);
[existsSync("b"), readFileSync("c", "utf8")]
`, `[ true, "axc" ]`, ""},
		{"functions without their this", "-- main.js --\nconst o = { name: 'o', f() { return `${this.name}` }, g: () => this.name };\nconst f = o.f;\n[f(), o.f(), o.g(), [1].map(function () { return this === globalThis })]\n", `[ "undefined", "o", undefined, [ true ] ]`, ""},
		{"methods without their this", "-- main.js --\nclass A { f() { return typeof this } }\nconst { f } = new A();\nf()\n", `"undefined"`, ""},
		{"what modules forbid", "-- main.js --\nconst o = Object.freeze({ a: 1 });\no.a = 2;\nfor (i = 0; i < 3; i++);\n[o, i]\n", `[ { a: 1 }, 3 ]`, ""},
		{"comments of HTML", "-- main.js --\n<!-- a\nconsole.log('x')\n--> b\n", "", "x\n"},
		{"a fence that was cut off", "-- main.js --\n```js\nconst x = 1;\n`${x}`\n", `"1"`, ""},
		{"a program in a text", "-- main.js --\nHere's the program:\n\n```js\nconsole.log('x')\n```\nIt prints x.\n", "", "x\n"},
		{"types in JavaScript", "-- main.js --\ninterface A { a: number }\nconst a: A = { a: 1 };\na\n", `{ a: 1 }`, ""},
		{"only for await", "-- main.js --\nlet r = ReadableStream.from([1]).pipeThrough(new TransformStream({ transform(c, t) { t.enqueue(c) } }));\nfor await (const c of r) console.log(c);\n", "", "1\n"},
		{"fields without a value", `
-- main.ts --
function Min(n: number) { return (t: any, k: string) => { let v = 0; Object.defineProperty(t, k, { get: () => v, set: (x) => { v = Math.max(x, n) } }) } }
class P { @Min(3) private size: number; constructor(s: number) { this.size = s } get() { return this.size } }
new P(1).get()
`, "3", ""},
		{"both kinds of modules", `
-- main.js --
import path from "path";
exports.a = path.sep; module.exports.b = 1;
[module.exports, require.main === module]
`, `[ { a: "/", b: 1 }, true ]`, ""},
		{"decorators with metadata", `
-- main.ts --
import "reflect-metadata";
import { plainToInstance } from "class-transformer";
import { IsEmail, validate } from "class-validator";
class User { @IsEmail() email!: string }
const errors = await validate(plainToInstance(User, { email: "x" }));
[errors[0].property, Reflect.getMetadata("design:type", User.prototype, "email") === String]
`, `[ "email", true ]`, ""},
		{"decorators before the standard", `
-- main.js --
function twice(target, propertyKey, descriptor) { const f = descriptor.value; descriptor.value = (...a) => 2 * f(...a) }
class A { @twice m(a) { return a } }
new A().m(2)
`, "4", ""},
		{"decorators of classes", `
-- main.ts --
function sealed(constructor: Function) { Object.seal(constructor) }
@sealed class A { static a = 1 }
Object.isSealed(A)
`, "true", ""},
		{"a version for tags", `
-- main.tsx --
import { Hono } from "npm:hono@4";
const app = new Hono();
app.get("/", (c) => c.html(<p>{1 + 1}</p>));
await (await app.request("/")).text()
`, `"<p>2</p>"`, ""},
		{"an early end", `
-- main.js --
const a = 1;
if (a) return console.log(a);
console.log(2);
`, "", "1\n"},
		{"standard decorators", `
-- main.ts --
function twice(f: any, context: ClassMethodDecoratorContext) { return (...a: unknown[]) => context.kind + f(...a) }
class A { @twice m(a: number) { return a } }
new A().m(2)
`, `"method2"`, ""},
		{"modules of packages", `
-- main.ts --
import dayjs from "dayjs";
import utc from "dayjs/plugin/utc";
import fp from "npm:lodash@4/fp";
dayjs.extend(utc);
[dayjs.utc("2020-01-01").format(), fp.add(1)(2)]
`, `[ "2020-01-01T00:00:00Z", 3 ]`, ""},
		{"names of CommonJS", `
-- main.ts --
import { chunk, times as repeat, type Dictionary } from "lodash";
import fp, { add } from "lodash/fp";
import { version } from "./package.json";
const d: Dictionary<number> = { n: add(1)(fp.add(1)(1)) };
[chunk(repeat(3, String), 2), d, version]
-- package.json --
{"version": "1.2.3"}
`, `[ [ [ "0", "1" ], [ "2" ] ], { n: 3 }, "1.2.3" ]`, ""},
		{"all of CommonJS by one name", `
-- main.ts --
import * as dayjs from "dayjs";
import * as utc from "dayjs/plugin/utc";
import * as _ from "lodash";
import * as R from "ramda";
import * as gql from "graphql";
import { third } from "./third";
dayjs.extend(utc);
[_.chunk([1, 2, 3], 2), dayjs("2020-01-01").utc(true).year(), third, R.inc(1), gql.parse("{ a }").kind, _.template(` + "`\nimport * as _ from 'lodash'`" + `)({})]
-- third.ts --
import * as _ from "lodash";
import * as ms from "ms";
export const third = [_.nth([1, 2, 3], 2), typeof ms.default];
`, `[ [ [ 1, 2 ], [ 3 ] ], 2020, [ 3, "function" ], 2, "Document", "\nimport * as _ from 'lodash'" ]`, ""},
		{"a module that a package requires", `
-- main.ts --
import { marked } from "npm:marked@18";
import sniff from "npm:html-encoding-sniffer@7";
[marked.parse("*a*"), sniff(new Uint8Array([0xef, 0xbb, 0xbf]))]
`, `[ "<p><em>a</em></p>\n", "UTF-8" ]`, ""},
		{"ranges", `
-- main.ts --
import _ from "lodash";
import ms from "ms";
[_.VERSION, ms("1s"), require("ms/package.json").version]
-- package.json --
{"dependencies": {"lodash": "<4", "ms": "1.0.0 || <=2.0.0"}}
`, `[ "3.10.1", 1000, "2.0.0" ]`, ""},
		{"tsconfig", `
-- main.ts --
import { a } from "@/a";
import { b } from "b/c";
[a, b]
-- tsconfig.json --
{ // as editors write it
  "compilerOptions": {"target": "es2020", "jsx": "preserve", "baseUrl": "src", "paths": {"@/*": ["./*"]},}}
-- src/a.ts --
export const a = 1;
-- src/b/c.ts --
export const b = 2;
`, "[ 1, 2 ]", ""},
		{"a package with the functions of a native one", `
-- main.js --
const bcrypt = require("bcrypt");
console.log(bcrypt.compareSync("a", bcrypt.hashSync("a", 4)));
`, "", "true\n"},
		{"a native one in a module", `
-- main.ts --
import { compareSync, hashSync } from "bcrypt";
compareSync("b", hashSync("a", 4))
`, "false", ""},
		{"the compiler", `
-- main.ts --
import ts from "typescript";
ts.transpileModule("let x: number = 1", {}).outputText.includes("let x = 1")
`, "true", ""},
		{"default imports of packages that have names", `
-- main.ts --
import LRUCache from "npm:lru-cache@11"; import he from "npm:he@2";
const cache = new LRUCache<string, number>({ max: 2 });
cache.set("a", 1);
[cache.get("a"), he.encode("<")]
`, `[ 1, "&#x3C;" ]`, ""},
		{"an optional peer", `
-- main.ts --
import { atom, createStore } from "npm:jotai@3";
createStore().get(atom(7))
`, "7", ""},
		{"a package named in a string", `
-- main.js --
const babel = require("npm:@babel/core@7");
babel.transformSync("a?.b", { plugins: ["@babel/plugin-syntax-jsx"], configFile: false }).code
`, `"a?.b;"`, ""},
		{"plugins of prettier by their names", `
-- main.mjs --
import * as prettier from "npm:prettier@3";
await prettier.format("<a  b='1'><c/></a>", { parser: "xml", plugins: ["@prettier/plugin-xml"] })
`, `"<a b='1'><c /></a>\n"`, ""},
		{"a package that looks above the working directory", `
-- main.js --
const AdmZip = require("adm-zip");
const zip = new AdmZip();
zip.addFile("a/b.txt", Buffer.from("text"));
zip.writeZip("a.zip");
new AdmZip("a.zip").extractAllTo("restored", true);
console.log(require("fs").readFileSync("restored/a/b.txt", "utf8"));
`, "", "text\n"},
		{"a package whose require() waited for itself", `
-- main.js --
console.log(typeof require("npm:tape@5"));
`, "", "function\n"},
		{"__proto__", `
-- main.js --
class A {}
console.log(new A().__proto__ === A.prototype, process.stdout.getWindowSize);
`, "", "true undefined\n"},
		{"a timer", `
-- main.js --
setTimeout(() => console.log("later"), 1);
`, "", "later\n"},
		{"a server", `
-- main.js --
const { createServer } = require("http");
createServer(() => {})
`, "", ""},
		{"an emitter", `
-- main.js --
const { EventEmitter } = require("events");
new EventEmitter().on("a", () => {});
`, "", ""},
		{"a subscription", `
-- main.js --
const source = { subscribe: (next) => (next(1), { closed: true, unsubscribe() {} }) };
source.subscribe(console.log)
`, "", "1\n"},
		{"an object of a class that fills pages", `
-- main.js --
class Compiler { constructor(d) { this.hooks = d ? [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(() => new Compiler(d - 1)) : "none of this says anything" } }
new Compiler(3)
`, "[Compiler]", ""},
		{"what was written", `
-- main.js --
process.stdout.write("a\n")
`, "", "a\n"},
		{"a script", `
-- main.js --
const lines = ["export", "import"];
for (const line of lines) console.log(line, typeof module, typeof this);
`, "", "export object object\nimport object object\n"},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			archive := txtar.Parse([]byte(tt.files))
			req := runners.Request{Language: runners.TypeScript, Filename: archive.Files[0].Name, Code: string(archive.Files[0].Data)}
			for _, f := range archive.Files[1:] {
				req.Files = append(req.Files, runners.File{Path: f.Name, Data: f.Data})
			}
			o := run(t, r, req)
			result := ""
			if o.Result != nil {
				result = o.Result.Text
			}
			if o.Status != runners.Succeeded || result != tt.result || o.Stdout != tt.stdout {
				t.Errorf("%s %+v, result %s, stdout %q, stderr %q, want %s, %q", o.Status, o.Error, result, o.Stdout, o.Stderr, tt.result, tt.stdout)
			}
		})
	}
}
