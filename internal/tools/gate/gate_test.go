package gate

import (
	"testing"

	"coderunner/internal/tools/config"
)

func TestDecide(t *testing.T) {
	g := New(config.Policy{Allow: []string{"a.*", "b.get", "*.x/y"}, Ask: []string{"a.write*", "b.*", "c.same"}, Deny: []string{"a.drop?", "d.*"}})
	for _, tt := range []struct {
		names    []string
		readOnly bool
		want     Decision
		by       string
	}{
		{[]string{"a.read"}, false, Allow, "a.*"},
		{[]string{"a.write_file"}, true, Ask, "a.write*"},
		{[]string{"b.get"}, false, Allow, "b.get"},
		{[]string{"b.other"}, true, Ask, "b.*"},
		{[]string{"a.drop1"}, true, Deny, "a.drop?"},
		{[]string{"a.drop"}, true, Allow, "a.*"},
		{[]string{"e.read"}, true, Allow, "readOnlyHint"},
		{[]string{"e.write"}, false, Ask, "no readOnlyHint"},
		{[]string{"e.x_y", "e.x/y"}, false, Allow, "*.x/y"},
		{[]string{"D.x", "d.x"}, true, Deny, "d.*"},
		{[]string{"ab.read"}, false, Ask, "no readOnlyHint"},
	} {
		if d, by := g.Decide(tt.names, tt.readOnly); d != tt.want || by != tt.by {
			t.Errorf("%v: %s by %s, want %s by %s", tt.names, d, by, tt.want, tt.by)
		}
	}
}
