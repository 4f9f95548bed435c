package deno

import (
	"strings"
	"testing"

	"coderunner/runners"
)

// TestWays has errors whose messages do not say what to do.
func TestWays(t *testing.T) {
	r := open(t, "", nil)
	for code, want := range map[string]string{
		`require("child_process").execSync("ls")`:                      "--allow-run; the sandbox has processes of its own in language \"bash\" and in Python's subprocess",
		`await new Deno.Command("ls").output()`:                        "(--allow-run); the sandbox has processes of its own in language \"bash\" and in Python's subprocess",
		`require("child_process").spawn("ls")`:                         "(--allow-run); the sandbox has processes",
		`new Deno.Command("ls").spawn()`:                               "(--allow-run); the sandbox has processes",
		`await require("dns/promises").lookup("host.invalid")`:         "--allow-net",
		`Deno.listen({ transport: "unix", path: "s" })`:                notUnix,
		`describe("a", () => {})`:                                      "node:test",
		`document.title`:                                               "jsdom",
		`await new Promise((done) => {}); console.log("never")`:        "stdin does not have",
		`console.log(process.env.PATH.split(":")); throw Error("end")`: "end",
	} {
		o := run(t, r, runners.Request{Language: runners.JavaScript, Code: code})
		if o.Error == nil || !strings.Contains(o.Error.Message, want) || strings.Contains(o.Error.Traceback, "import(orders") {
			t.Errorf("%s: %s %+v, want %s", code, o.Status, o.Error, want)
		}
	}
}
