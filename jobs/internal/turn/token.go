package turn

// A Token is the identity of a request, by which it can be cancelled. Only its address counts,
// which is why it must not be empty: values without a size may share one.
type Token struct{ _ byte }
