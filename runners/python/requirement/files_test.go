package requirement_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coderunner/runners/python/requirement"
)

func readFiles(files map[string]string) (requirement.Files, error) {
	return requirement.ReadFiles(func(path string) []byte {
		if text, ok := files[path]; ok {
			return append([]byte{}, text...)
		}
		return nil
	})
}

func TestReadFiles(t *testing.T) {
	sum := strings.Repeat("a1", 32)
	for _, test := range []struct {
		files  map[string]string
		want   string
		hashes map[string][]string
	}{
		{map[string]string{"other.txt": "six"}, "", nil},
		{map[string]string{"requirements.txt": "\ufeff# all\n\nSix >= 1.15 # old\r\nattrs[x]; python_version >= '3' \\\n\n--prefer-binary\n-r sub/more.txt", "sub/more.txt": "-r ../requirements.txt\n-rlast.txt\nidna", "sub/last.txt": "--only-binary=:all:\nyarl"},
			"attrs[x]; python_version >= '3' idna six>=1.15 yarl", nil},
		{map[string]string{"requirements.txt": "six==1.15 \\\n    --hash=sha256:" + sum + " \\\n    --hash=sha256:" + strings.ToUpper(sum) + "\n"}, "six==1.15", map[string][]string{"six": {sum, sum}}},
		{map[string]string{"pyproject.toml": "[project]\nname = 'x'\ndependencies = ['six<2']\n[project.optional-dependencies]\ndev = ['pytest']\n", "requirements.txt": "idna"}, "idna six<2", nil},
		{map[string]string{"pyproject.toml": "[tool.ruff]\n"}, "", nil},
	} {
		got, err := readFiles(test.files)
		if err != nil {
			t.Errorf("%v: %v", test.files, err)
			continue
		}
		if list := strings.Join(requirement.Key(got.Requirements), " "); list != test.want {
			t.Errorf("%v: %q, want %q", test.files, list, test.want)
		}
		if diff := cmp.Diff(test.hashes, got.Hashes); diff != "" {
			t.Errorf("%v: %s", test.files, diff)
		}
	}
	constrained, err := readFiles(map[string]string{
		"requirements.txt": "six\n-c limits.txt\nidna",
		"limits.txt":       "six<2\n-r more.txt",
		"more.txt":         "yarl==1",
		"pyproject.toml": "[project]\noptional-dependencies = {web = ['flask<3', 'x @ https://x.invalid/x.whl', 'attrs<1']}\n" +
			"[dependency-groups]\ntest = ['pytest>=8', {include-group = 'dev'}, 'attrs>=1', 'ruff']\ndev = ['flask<3']",
	})
	if got := strings.Join(requirement.Key(constrained.Constraints), " "); err != nil || got != "flask<3 pytest>=8 six<2 yarl==1" {
		t.Errorf("constraints %q, %v", got, err)
	}
	if got := strings.Join(requirement.Key(constrained.Requirements), " "); got != "idna six" {
		t.Errorf("requirements %q", got)
	}
	for text, want := range map[string]string{
		"six\n--index-url https://x.invalid/":       "requirements.txt, line 2: the option --index-url is not supported",
		"--extra-index-url=https://x.invalid":       "the option --extra-index-url is not",
		"-e .":                                      "the option -e is not supported: the files are there already",
		"-c limits.txt":                             "there is no file limits.txt",
		"-r more.txt":                               "there is no file more.txt",
		"-r ../../x":                                "there is no file ../../x",
		"six @ https://x.invalid/six.whl":           "not from URLs",
		"./six":                                     "not a Python requirement",
		"six --global-option=x":                     "the option --global-option is not",
		"six==1 --hash=md5:00":                      "SHA-256",
		"six>=1 --hash=sha256:" + sum:               "needs a version (==)",
		"six==1 --hash=sha256:" + sum + "\nidna==1": "idna has not",
		"--require-hashes\nsix==1":                  "six has not",
		strings.Repeat("six\n", 501):                "line 501: there are more than 500",
	} {
		if _, err := readFiles(map[string]string{"requirements.txt": text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"[project]\ndependencies = [\n": "pyproject.toml: not valid TOML in line", "[project]\ndependencies = ['a b']": "pyproject.toml: \"a b\" is not",
	} {
		if _, err := readFiles(map[string]string{"pyproject.toml": text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func FuzzReadFiles(f *testing.F) {
	f.Add("six==1 --hash=sha256:00\n-r requirements.txt\n\\\n#")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = readFiles(map[string]string{"requirements.txt": text, "pyproject.toml": text})
	})
}
