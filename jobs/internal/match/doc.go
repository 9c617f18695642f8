// Package match finds ECMAScript patterns in terminal output while it comes.
package match
