package deno

import (
	"testing"

	"coderunner/runners"
)

// TestLikeNode has programs that find what Node does, where Deno does otherwise.
func TestLikeNode(t *testing.T) {
	r := open(t, "", nil)
	for name, c := range map[string]struct{ code, want string }{
		"errors of node:fs": {`
			const fs = require("fs"), { COPYFILE_EXCL } = fs.constants;
			fs.writeFileSync("a", ""); fs.writeFileSync("b", ""); fs.mkdirSync("d");
			const tell = (e) => e && console.log(e.name, e.code, e.syscall, e.path, e.dest, e.message);
			for (const f of [
				() => fs.copyFileSync("a", "b", COPYFILE_EXCL), () => fs.copyFileSync("none", "c"), () => fs.copyFileSync("d", "c"), () => fs.readdirSync("none"),
				() => fs.utimesSync("none", 1, 1), () => fs.unlinkSync("d"), () => fs.closeSync(999), () => fs.copyFileSync("/etc/passwd", "c"),
			]) try { f() } catch (e) { tell(e) }
			fs.unlinkSync("a");
			fs.copyFile("none", "c", (e) => {
				tell(e);
				fs.copyFile("b", "c", async (e) => {
					tell(e);
					await fs.promises.copyFile("b", "c", COPYFILE_EXCL).catch(tell);
					await fs.promises.unlink("d").catch(tell);
					fs.unlink("d", (e) => (tell(e), console.log(fs.readdirSync(".").join())));
				});
			});`, `Error EEXIST copyfile a b EEXIST: file already exists, copyfile 'a' -> 'b'
Error ENOENT copyfile none c ENOENT: no such file or directory, copyfile 'none' -> 'c'
Error EISDIR copyfile d c EISDIR: illegal operation on a directory, copyfile 'd' -> 'c'
Error ENOENT scandir none undefined ENOENT: no such file or directory, scandir 'none'
Error ENOENT utime none undefined ENOENT: no such file or directory, utime 'none'
Error EISDIR unlink d undefined EISDIR: illegal operation on a directory, unlink 'd'
Error EBADF close undefined undefined EBADF: bad file descriptor, close
Error ENOENT copyfile /etc/passwd c ENOENT: no such file or directory, copyfile '/etc/passwd' -> 'c'
Error ENOENT copyfile none c ENOENT: no such file or directory, copyfile 'none' -> 'c'
Error EEXIST copyfile b c EEXIST: file already exists, copyfile 'b' -> 'c'
Error EISDIR unlink d undefined EISDIR: illegal operation on a directory, unlink 'd'
Error EISDIR unlink d undefined EISDIR: illegal operation on a directory, unlink 'd'
b,c,d,main.js
`},
		"a way that is closed": {`
			const fs = require("fs");
			for (const f of [() => fs.copyFileSync("main.js", "/etc/x"), () => fs.unlinkSync("/etc/hostname"), () => fs.unlinkSync("/etc")]) {
				try { f(); console.log("done") } catch (e) { console.log(/permissions|access/.test(e.message) || e.code) }
			}`, "true\ntrue\ntrue\n"},
		"numbers by %d": {`
			console.log("%d %s %d%% %i %d", 41.5, "%d", "99.5", 3.9, 10n, { a: 1 });
			console.log("%d"); console.log(); console.log("%d %d", 1, -0, "%d"); console.log(1.5, "%d");`,
			"41.5 %d 99.5% 3 10n { a: 1 }\n%d\n\n1 -0 %d\n1.5 %d\n"},
	} {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Filename: "main.js", Code: c.code})
		if o.Status != runners.Succeeded || o.Stdout != c.want {
			t.Errorf("%s: %s %+v, stdout\n%s, want\n%s", name, o.Status, o.Error, o.Stdout, c.want)
		}
	}
	o := run(t, r, runners.Request{Language: runners.JavaScript, Code: "import { copyFile } from 'fs/promises';\nasync function go() {\n  await copyFile('none', 'c');\n}\nawait go();"})
	if o.Error == nil || o.Error.Line != 3 || o.Error.Type != "Error" || o.Error.Message != "ENOENT: no such file or directory, copyfile 'none' -> 'c'" {
		t.Errorf("%+v", o.Error)
	}
	for name, code := range map[string]string{
		"a throw":     "process.on('exit', (code) => console.log('exit', code)); null.x",
		"a rejection": "process.on('exit', (code) => console.log('exit', code)); (async () => { throw new Error('x') })()",
		"an await":    "process.on('exit', (code) => console.log('exit', code)); await Promise.reject(new Error('x'))",
		"a timer":     "process.once('exit', (code) => console.log('exit', code)); setTimeout(() => null.x)",
		"handled":     "process.on('exit', (code) => console.log('exit', code)); process.on('uncaughtException', () => process.exit(1)); setTimeout(() => null.x)",
	} {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: code})
		if o.Status != runners.Failed || o.ExitCode != 1 || o.Stdout != "exit 1\n" || (o.Error == nil) != (name == "handled") {
			t.Errorf("%s: %s, exit code %d, %+v, stdout %q", name, o.Status, o.ExitCode, o.Error, o.Stdout)
		}
	}
	for code, origin := range map[string]string{"null.x": "uncaughtException", "await 1; null.x": "unhandledRejection"} {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: "process.on('uncaughtException', (e, origin) => { console.log(e.name, origin); process.exitCode = 3 }); setTimeout(() => console.log('goes on')); " + code})
		if want := "TypeError " + origin + "\ngoes on\n"; o.Stdout != want || o.ExitCode != 3 || o.Error != nil {
			t.Errorf("%s: exit code %d, %+v, stdout %q", code, o.ExitCode, o.Error, o.Stdout)
		}
	}
	o = run(t, r, runners.Request{Language: runners.JavaScript, Code: "process.on('uncaughtException', (e) => {\n throw new RangeError('again') });\nnull.x"})
	if o.ExitCode != 1 || o.Error == nil || o.Error.Type != "RangeError" || o.Error.Line != 2 {
		t.Errorf("exit code %d, %+v", o.ExitCode, o.Error)
	}
	o = run(t, r, runners.Request{Language: runners.TypeScript, Code: `
		function sealed(target: Function, context: ClassDecoratorContext) { Object.seal(target); Object.freeze(target.prototype) }
		@sealed class Report { title = "x" }
		console.log(Object.isSealed(Report), Object.isFrozen(Report.prototype), new Report());
		Object.defineProperty(Report, "more", { value: 1 });`})
	if o.Stdout != "true true Report { title: \"x\" }\n" || o.Error == nil || o.Error.Type != "TypeError" || o.Error.Line != 5 {
		t.Errorf("a sealed class: %s %+v, stdout %q", o.Status, o.Error, o.Stdout)
	}
}
