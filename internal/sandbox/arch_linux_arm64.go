package sandbox

import "golang.org/x/sys/unix"

// auditArch names this processor in filters.
const auditArch = unix.AUDIT_ARCH_AARCH64
