// Package safedir finds the directories in which shelld keeps files, judges whether other users could replace what is in
// them, and locks files. A lock ends with the process that holds it, for whatever reason, so it proves that the process
// is alive.
package safedir
