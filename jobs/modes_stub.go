package jobs

import "shelld/screen"

// modesForTest is what a test says that programs have asked of their terminals; see
// program in its tests.
var modesForTest screen.Modes

// modes is what the job's program has asked of its terminal.
func (j *Job) modes() screen.Modes { return modesForTest }
