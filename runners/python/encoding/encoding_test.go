package encoding

import "testing"

// TestDecode has programs that are not UTF-8.
func TestDecode(t *testing.T) {
	for code, want := range map[string]string{
		"a = 'é'":                                       "a = 'é'",
		"# -*- coding: latin-1 -*-\na = '\xe9'":         "# -*- coding: latin-1 -*-\na = 'é'",
		"#!/usr/bin/python3\n# coding=cp1252\n'\x80'":   "#!/usr/bin/python3\n# coding=cp1252\n'€'",
		"# vim: set fileencoding=iso-8859-15 :\n'\xa4'": "# vim: set fileencoding=iso-8859-15 :\n'€'",
		"# coding: shift_jis\n'\x82\xa0'":               "# coding: shift_jis\n'あ'",
		"# coding: utf-16\n\n'\xff'":                    "a.py:3: not UTF-8 (byte 0xff): save it as UTF-8, or name its encoding in the first line (# coding: latin-1)",
		"1\n2\n# coding: latin-1\n'\xe9'":               "a.py:4: not UTF-8 (byte 0xe9): save it as UTF-8, or name its encoding in the first line (# coding: latin-1)",
		"'\xe9":                                         "a.py:1: not UTF-8 (byte 0xe9): save it as UTF-8, or name its encoding in the first line (# coding: latin-1)",
	} {
		got, err := Decode("a.py", code)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}
