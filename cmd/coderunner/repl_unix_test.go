//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dot is what shows an image of one pixel, in both languages.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestRepl types into a repl on a terminal.
func TestRepl(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	for language, c := range map[string]struct {
		define, name, value, block, call, loop, ended, raise, kind, show string
		complete, completed, paste, pasted, ask                          string
	}{
		"typescript": {
			"const answer: number = 41\r", "ans\t + 1\r", "\r\n42\r\n> ", "function half() {\rreturn answer - 1\r}\r", "half()\r", "for (let i = 0;; i++) if (i === 0) console.log('on')\r", "coderunner: interrupted; the session is as before", "null!.x\r", "TypeError",
			"display({ [Symbol.for('Jupyter.display')]: () => ({ 'image/png': '" + dot + "' }) })\r",
			"hal\t()\r", "40", "const list = [\n\t1, 2,\n\n];\nlist\n  .map((n) => n * 3)\n", "[ 3, 6 ]\r\n", "prompt('Name?')\r",
		},
		"python": {
			"answer = 41\r", "ans\t + 1\r", "\r\n42\r\n> ", "def half():\r    return answer - 1\r\r", "half()\r", "for i in range(10**12): print('on') if i == 0 else None\r\r", "KeyboardInterrupt", "1/0\r", "ZeroDivisionError",
			"import base64; display({'image/png': '" + dot + "'}, raw=True)\r",
			"answer.bit_len\t()\r", "\r\n6\r\n", "class A:\n\tdef f(self):\n\t\treturn 3\n\n\tdef g(self):\n\t\treturn 6\n\n[A().f(), A().g()]\n", "[3, 6]\r\n", "input('Name?')\r",
		},
	} {
		t.Run(language, func(t *testing.T) {
			state, dir := t.TempDir(), t.TempDir()
			env := []string{"XDG_STATE_HOME=" + state, "TERM=xterm-kitty", "TERM_PROGRAM=", "TMUX=", "NO_COLOR=1"}
			term := startTerminal(t, env, "repl", language, "--out", dir)
			term.then("> ")
			term.types(c.define)
			term.then("\r\n> ")
			term.types(c.name)
			term.then(c.value)
			term.types(c.block)
			term.then("… ")
			term.then("\r\n> ")
			term.types(c.call)
			term.then("40\r\n> ")
			term.types("_ + 2\r") // the last value
			term.then("42\r\n> ")
			term.types(c.loop)
			term.then("\non\r\n")
			term.types("\x03")
			term.then(c.ended + "\r\n> ")
			term.types(c.complete)
			term.then(c.completed)
			term.then("> ")
			term.types(c.raise)
			term.then(c.kind)
			term.then("> ")
			term.types("\x1b[200~" + c.paste + "\x1b[201~")
			term.then(c.pasted)
			term.then("> ")
			term.types(c.ask)
			term.then("\nName?")
			term.types("Ada\r")
			term.then("Ada")
			term.then("> ")
			term.types(c.show)
			term.then("\x1b_Ga=T,f=100,q=2,m=0;" + dot + "\x1b\\")
			term.then("> ")
			term.types("\x1b[A") // the line before
			term.then(c.show[len(c.show)-4 : len(c.show)-1])
			term.types(" +\x03") // what is typed is dropped
			term.then("> ")
			term.types("\x04")
			term.exits(0)

			history, err := os.ReadFile(filepath.Join(state, "coderunner", "history-"+language))
			if err != nil || !strings.Contains(string(history), c.define[:len(c.define)-1]+"\n") {
				t.Errorf("the history is %q, %v", history, err)
			}

			// A terminal that shows no images has their names.
			term = startTerminal(t, append(env, "TERM=xterm"), "repl", language, "--out", dir)
			term.then("> ")
			term.types("\x1b[A") // of the last time
			term.then(c.show[len(c.show)-4 : len(c.show)-1])
			term.types("\r")
			term.then("coderunner: wrote " + filepath.Join(dir, "display-1.png") + " (70 B)\r\n")
			term.types("exit(3)\r")
			term.exits(3)
		})
	}
}

// Ctrl-C reaches a statement of bash, and one that it ends leaves the session.
func TestReplInterrupt(t *testing.T) {
	if testing.Short() {
		t.Skip("opens the runtimes")
	}
	term := startTerminal(t, []string{"XDG_STATE_HOME=" + t.TempDir(), "NO_COLOR=1"}, "repl", "bash")
	term.then("> ")
	for _, step := range []struct{ types, shows string }{
		{"x=5\r", "x=5\r\n> "},
		{"echo go $x; sleep 60\r", "\r\ngo 5\r\n"},
		{"\x03", "\r\ncoderunner: interrupted; the session is as before\r\n> "},
		{"alias greet='echo hello'\r", "hello'\r\n> "},
		{"greet you\r", "\nhello you\r\n> "},
		{"trap 'echo bye' INT; bash -c \"echo go $x; sleep 60\"; echo then\r", "\r\ngo 5\r\n"},
		{"\x03", "bye\r\nthen\r\n> "},
	} {
		term.types(step.types)
		term.then(step.shows)
	}
	term.types("\x04")
	term.exits(0)
}
