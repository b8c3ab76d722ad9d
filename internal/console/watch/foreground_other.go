//go:build !unix

package watch

import "os"

// foreground tells whether this process may use the terminal.
func foreground(*os.File) bool { return true }
