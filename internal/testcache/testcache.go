// Package testcache names the cache that tests share. Only tests import it.
package testcache

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Flags are the linker's for programs that tests build. Machine code is kept by wazero's version,
// which tests of libraries do not know: with the same one, programs find what these compiled.
const Flags = "-X github.com/tetratelabs/wazero/internal/version.version=dev"

// Dir returns a directory beside the user's own cache, which tests do not touch,
// or CODERUNNER_TEST_CACHE. It stays from one run of the tests to the next, so
// that only the first one fetches and compiles the runtimes. For a user without
// a cache directory it is in the temporary directory.
var Dir = sync.OnceValue(func() string {
	if dir := os.Getenv("CODERUNNER_TEST_CACHE"); dir != "" {
		return dir
	}
	base, err := os.UserCacheDir()
	if dir := filepath.Join(base, "coderunner-test"); err == nil && os.MkdirAll(dir, 0o700) == nil {
		return dir
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("coderunner-test-%d", os.Getuid()))
})
