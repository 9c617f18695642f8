package screen_test

import (
	"fmt"

	"shelld.dev/shelld/screen"
)

// A Terminal draws what a program prints, and a Snapshot is its screen at one moment.
func ExampleTerminal() {
	term := screen.NewTerminal(20, 3, 0)
	term.Write([]byte("10 %\r50 %\r100 %\r\n\x1b[32mdone\x1b[m"))
	s := term.Snapshot(0)
	for row := range s.Lines {
		fmt.Printf("%q\n", s.AppendRow(nil, row, s.Cols))
	}
	fmt.Println(s.Cursor.Row, s.Cursor.Col)
	// Output:
	// "100 %"
	// "\x1b[0;32mdone\x1b[m"
	// ""
	// 1 4
}

// Keys are encoded for the modes that the program has switched its terminal to.
func ExampleEncode() {
	normal, _ := screen.Encode([]string{"Up", "Ctrl-C"}, screen.Modes{})
	application, _ := screen.Encode([]string{"Up"}, screen.Modes{ApplicationCursor: true})
	_, err := screen.Encode([]string{"ctrl-c"}, screen.Modes{})
	fmt.Printf("%q\n%q\n%v\n", normal, application, err)
	// Output:
	// "\x1b[A\x03"
	// "\x1bOA"
	// unknown key "ctrl-c"
}
