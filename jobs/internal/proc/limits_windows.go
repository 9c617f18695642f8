package proc

// MaxVariable is how many bytes a variable may have: its name, "=", its value and the NUL
// behind it. Windows counts characters, of which no byte makes more than one.
const MaxVariable = 32767
