package deno

import (
	"strings"
	"testing"

	"coderunner/internal/sample"
	"coderunner/runners"
)

// TestEsbuild has programs that use esbuild, which starts a program, and vite, whose parts are
// esbuild and machine code. They run without permission for either.
func TestEsbuild(t *testing.T) {
	r := open(t, "", nil)
	for _, tt := range []struct {
		name, code string
		packages   []string
		want       string
	}{
		{"transform", `import * as esbuild from "esbuild";
const { code } = await esbuild.transform("let a: number = 1", { loader: "ts" });
const { errors } = await esbuild.transform("let = ;", { logLevel: "silent" }).catch((e) => e);
console.log(code.trim(), errors[0].text, errors[0].location.column);`, nil, `let a = 1; Unexpected ";" 6`},
		{"a build with plugins", `import * as esbuild from "npm:esbuild@0.25";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
mkdirSync("src/lib", { recursive: true });
writeFileSync("src/a.ts", 'import { b } from "./lib/b"; import c from "virtual:c"; console.log(b as string, c);');
writeFileSync("src/lib/b.ts", "export const b: string = 'b', unused = 1;");
const virtual = { name: "virtual", setup(build) {
  build.onResolve({ filter: /^virtual:/ }, ({ path }) => ({ path, namespace: "virtual" }));
  build.onLoad({ filter: /./, namespace: "virtual" }, async () => { await new Promise((done) => setTimeout(done, 1)); return { contents: "export default 'c'" } });
} };
const context = await esbuild.context({ entryPoints: ["src/a.ts"], bundle: true, outdir: "out", minify: true, plugins: [virtual], metafile: true });
const { metafile } = await context.rebuild();
await context.dispose();
console.log(readFileSync("out/a.js", "utf8").trim(), Object.keys(metafile.inputs), esbuild.version.slice(0, 5));`, nil,
			`(()=>{var o="c";console.log("b",o);})(); [ "src/lib/b.ts", "virtual:virtual:c", "src/a.ts" ] 0.25.`},
		{"required, in one turn", `const esbuild = require("esbuild"), fs = require("fs");
fs.writeFileSync("a.tsx", "export const a = <p>{1 as number}</p>");
console.log(esbuild.transformSync("let a: number = 1", { loader: "ts" }).code.trim(), esbuild.buildSync({ entryPoints: ["a.tsx"], write: false, jsx: "preserve" }).outputFiles[0].text.trim());`, []string{"esbuild"}, `let a = 1; export const a = <p>{1}</p>;`},
		{"lightningcss", `import { transform } from "lightningcss";
console.log(new TextDecoder().decode(transform({ filename: "a.css", code: new TextEncoder().encode("a { color: #ff0000 }"), minify: true }).code));`, nil, "a{color:red}"},
		{"permissions", `import * as esbuild from "esbuild";
const of = (options) => esbuild.build({ logLevel: "silent", ...options }).then(() => "done", (e) => e.message.split("\n")[1]);
console.log(await of({ entryPoints: ["/etc/passwd"], loader: { "": "text" }, write: false }));
console.log(await of({ stdin: { contents: "1" }, outfile: "/var/coderunner-escaped.js" }));`, nil, "error: Could not resolve \"/etc/passwd\"\nerror: Failed to create output directory: mkdir /: Permission denied"},
		{"vite", `import { build, createServer, transformWithEsbuild } from "vite";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
mkdirSync("site");
writeFileSync("site/index.html", '<div id="app"></div><script type="module" src="/main.ts"></script>');
writeFileSync("site/main.ts", 'import "./a.css"; import { add } from "./add"; console.log(add(1, 2) as number, import.meta.env.MODE);');
writeFileSync("site/add.ts", "export enum Unit { One = 1 } export const add = (a: number, b: number) => a + b * Unit.One;");
writeFileSync("site/a.css", "a { color: red }");
const { output } = await build({ root: "site", logLevel: "silent", build: { outDir: "../dist" }, plugins: [{ name: "p", transform: (code) => code.replace("1, 2", "3, 4") }] });
console.log(output.map((o) => o.fileName.replace(/-.*\./, "-N.")), readdirSync("dist"), /\(3,4\),"production"|console\.log\(7/.test(output[0].code));
console.log((await transformWithEsbuild("let a: string", "a.ts")).code.trim());
const server = await createServer({ root: "site", server: { middlewareMode: true }, logLevel: "silent", optimizeDeps: { noDiscovery: true } });
console.log((await server.ssrLoadModule("/add.ts")).add(2, 3), (await server.transformRequest("/main.ts")).code.includes("/add.ts"));
await server.close();`, nil, `[ "assets/index-N.js", "assets/index-N.css", "index.html" ] [ "assets", "index.html" ] true` + "\nlet a;\n5 true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "vite" {
				sample.Long(t)
			}
			o := run(t, r, runners.Request{Code: tt.code, Packages: tt.packages})
			if got := strings.TrimSpace(o.Stdout); o.Status != runners.Succeeded || !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s %+v\n%s\nwant %s\n%s", o.Status, o.Error, got, tt.want, o.Stderr)
			}
			for _, p := range o.Packages {
				if p.Name == "esbuild" || p.Name == "rollup" || p.Name == "rolldown" {
					t.Errorf("%s is installed", p.Name)
				}
			}
		})
	}
}
