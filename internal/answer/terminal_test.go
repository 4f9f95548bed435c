package answer

import (
	"strings"
	"testing"
)

func TestOnTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ntext\n":                            "plain\ntext\n",
		"a\r\nb\r\n":                               "a\nb\n",
		"\r  0%|   |\r 50%|#  |\r100%|###|\nok":    "100%|###|\nok",
		"\x1b[31mred\x1b[0m \x1b[1;4mx\x1b[m":      "red x",
		"long line\rshort":                         "shortline",
		"long line\r\x1b[Kshort":                   "short",
		"abc\x1b[2Kd":                              "   d",
		"12\b\b\b3":                                "32",
		"\x1b]0;title\aafter":                      "after",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"bell\a":     "bell",
		"é\rß😀":      "ß😀",
		"cut \x1b[3": "cut 3",
		"\x1b":       "",
		"done   \r":  "done   ",
	} {
		if got := OnTerminal(text); got != want {
			t.Errorf("OnTerminal(%q) = %q, want %q", text, got, want)
		}
	}
}

// A line that is overwritten a million times takes its own length.
func TestOnTerminalIsLinear(t *testing.T) {
	if got := OnTerminal(strings.Repeat("\r50%|###|", 1<<17) + strings.Repeat("\x1b[1m", 1<<17)); got != "50%|###|" {
		t.Errorf("%d bytes", len(got))
	}
}
