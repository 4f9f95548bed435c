package netstack

import (
	"strings"
	"testing"

	"coderunner/internal/machine/abi"
)

func TestParseIP(t *testing.T) {
	for text, want := range map[string]string{
		"127.1": "127.0.0.1", "0x7f.1": "127.0.0.1", "017700000001": "127.0.0.1", "2130706433": "127.0.0.1",
		"0177.0.0.1": "127.0.0.1", "::ffff:10.1.2.3": "::ffff:10.1.2.3", "1.2.3": "1.2.0.3",
		"256.1": "", "1.2.3.4.5": "", "a.b": "", "": "", "4294967296": "", "1..2": "", "0b1": "", "1_0": "", "-1": "",
	} {
		if ip, ok := ParseIP(text); ok != (want != "") || ok && ip.String() != want {
			t.Errorf("ParseIP(%q) = %v, %v", text, ip, ok)
		}
	}
}

func TestResolve(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	for _, test := range []struct {
		node, service string
		hint          Hint
		want          string
	}{
		{"localhost", "http", Hint{Type: abi.SOCK_STREAM}, "127.0.0.1:80 [::1]:80"},
		{"", "80", Hint{Type: abi.SOCK_DGRAM, Flags: aiPassive, Family: abi.AF_INET}, "0.0.0.0:80"},
		{"x.localhost", "", Hint{Family: abi.AF_INET6}, "[::1]:0 [::1]:0"},
		{"fe80::1%eth0", "1", Hint{Type: abi.SOCK_STREAM}, "[fe80::1]:1"},
		{"127.0.0.1", "1", Hint{Family: abi.AF_INET6}, "EAI -2: "},
		{"a.example", "1", Hint{}, "EAI -3: "},
		{"a.example", "1", Hint{Flags: aiNumericHost}, "EAI -2: "},
		{"localhost", "nothing", Hint{}, "EAI -8: "},
		{"localhost", "1", Hint{Family: 77}, "EAI -6: "},
	} {
		infos, err := s.Resolve(bg, test.node, test.service, test.hint)
		var got []string
		for _, i := range infos {
			got = append(got, i.Addr.IP.String())
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("Resolve(%q, %q) = %q, want %q", test.node, test.service, got, test.want)
		}
	}
	if ServicePort("domain", "udp") != 53 || ServicePort("ssh", "udp") != 0 || ServiceName(443, "") != "https" {
		t.Error("the services are others")
	}
}
