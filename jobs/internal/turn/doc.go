// Package turn provides the parts of an actor that takes turns: the lock that is held for one turn, the
// mailbox from which a turn takes its messages, and the token by which a request can be cancelled.
package turn
