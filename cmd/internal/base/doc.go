// Package base is what the commands of the module are alike in: which version they are, how
// they keep stdin and stdout for a protocol, and how they show what others have written.
package base
