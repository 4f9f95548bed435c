package requirement_test

import (
	"strings"
	"testing"

	"coderunner/runners/python/requirement"
)

func TestApplies(t *testing.T) {
	env := requirement.Environ("3.14.2", "5.0.3")
	for marker, want := range map[string]bool{
		``: true, `python_version < "3.8"`: false, `python_version >= '3.9' and python_version<"4"`: true, `python_full_version == "3.14.*"`: true,
		`platform_system == "Linux"`: false, `sys_platform == "emscripten"`: true, `"linux" in sys_platform`: false, `sys_platform not in "win32 cygwin"`: true,
		`os.name == "nt"`: false, `python_version in "3.13 3.14"`: true, `"3.9" <= python_version`: true,
		`extra == "Fast_Mode"`: true, `extra == "slow"`: false, `extra == "slow" or (os_name == "posix" and extra == "fast.mode")`: true,
		`platform_release > "x"`: false, `sys_platform >= "a"`: false, `sys_platform >= "emscripten"`: true, `python_full_version >= "3.9.*"`: false,
	} {
		if got, err := (requirement.Requirement{Marker: marker}).Applies(env, "", "fast-mode"); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", marker, got, err, want)
		}
	}
	for _, marker := range []string{
		`bogus == "x"`, `os_name`, `os_name ==`, `(os_name == "x"`, `os_name == "x")`, `os_name == x`, `os_name == "x" and`, `os_name ~= "x"`, `os_name == "x" $`,
		strings.Repeat("(", 2000) + `os_name == "x"` + strings.Repeat(")", 2000),
	} {
		if _, err := (requirement.Requirement{Marker: marker}).Applies(env, ""); err == nil {
			t.Errorf("%.50s is taken for a marker", marker)
		}
	}
}

func FuzzApplies(f *testing.F) {
	f.Add(`python_version < "3" or (os.name != 'nt' and extra not in "a")`)
	env := requirement.Environ("3.14.2", "5.0.3")
	f.Fuzz(func(t *testing.T, marker string) {
		_, _ = requirement.Requirement{Marker: marker}.Applies(env, "", "x") // does not panic
	})
}
