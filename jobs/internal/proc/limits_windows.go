package proc

// MaxVariable is the maximum size of a variable in bytes: its name, "=", its value and the NUL behind it. Windows
// counts UTF-16 code units, and a byte of UTF-8 never becomes more than one of these.
const MaxVariable = 32767
