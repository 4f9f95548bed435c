package main

import (
	"path"
	"path/filepath"
	"regexp"
)

// Tests of Python read what pytest reads beside them and above, which no text names:
// fixtures, settings, and the marks of packages.

var (
	testConfigs = []string{"conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "__init__.py"}
	testName    = regexp.MustCompile(`(?:^|/)(?:test_\w*|\w*_test)\.py$`)
	testText    = regexp.MustCompile(`(?m)^(?:import|from) pytest\b|^(?:async )?def test_\w*\(`)
)

// isTest reports whether a Python program has tests for pytest.
func isTest(file, code string) bool {
	return testName.MatchString(filepath.ToSlash(file)) || testText.MatchString(code)
}

// configuredAbove reports whether pytest finds a configuration above dir, which is below
// the current directory.
func configuredAbove(dir string) bool {
	for dir != "." {
		if dir = filepath.Dir(dir); isConfigured(dir) {
			return true
		}
	}
	return false
}

// isConfigured reports whether dir has a configuration of pytest.
func isConfigured(dir string) bool {
	for _, name := range testConfigs[:5] {
		if isRegular(filepath.Join(dir, name)) {
			return true
		}
	}
	return false
}

// takeTestConfigs takes what pytest reads for a test in dir.
func (b *beside) takeTestConfigs(dir string) {
	for {
		for _, name := range testConfigs {
			b.take(path.Join(dir, name))
		}
		if dir == "." {
			return
		}
		dir = path.Dir(dir)
	}
}
