// Package testcache names the cache that tests share. Only tests import it.
package testcache

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Dir returns a directory beside the user's own cache, which tests do not touch,
// or CODERUNNER_TEST_CACHE. It stays from one run of the tests to the next, so
// that only the first one fetches and compiles the runtimes. For a user without
// a cache directory it is in the temporary directory.
var Dir = sync.OnceValue(func() string {
	if dir := os.Getenv("CODERUNNER_TEST_CACHE"); dir != "" {
		return dir
	}
	if base, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(base, "coderunner-test")
		if os.MkdirAll(dir, 0o700) == nil {
			return dir
		}
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("coderunner-test-%d", os.Getuid()))
})
