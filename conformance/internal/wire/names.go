package wire

// IsWord reports whether a byte can be part of a name of the session language.
func IsWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Streams are the names of a job's streams.
var Streams = []string{"pty", "stdout", "stderr"}

// Confidences are the confidences of a wait for input, the lowest first.
var Confidences = []string{"guess", "likely", "exact"}
