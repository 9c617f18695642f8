package jobs

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Every type that is a message has a method deliver: the compiler does not check that.
func TestEveryMessageIsDelivered(t *testing.T) {
	messages, delivered := map[string]bool{}, map[string]bool{}
	note := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil {
				break
			}
			if recv, ok := n.Recv.List[0].Type.(*ast.Ident); ok && n.Name.Name == "message" {
				messages[recv.Name] = true
			} else if ok && n.Name.Name == "deliver" {
				delivered[recv.Name] = true
			}
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok && embedsMessage(s) {
				messages[n.Name.Name] = true
			}
		}
		return true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, note)
	}
	if len(messages) < 30 {
		t.Errorf("only %d messages were found", len(messages))
	}
	for name := range messages {
		if !delivered[name] {
			t.Errorf("%s has no method deliver", name)
		}
	}
	for name := range delivered {
		if !messages[name] {
			t.Errorf("%s is delivered and is no message", name)
		}
	}
}

// embedsMessage reports whether a struct embeds a type with the method message.
func embedsMessage(s *ast.StructType) bool {
	for _, f := range s.Fields.List {
		if len(f.Names) > 0 {
			continue
		}
		typ := f.Type
		if of, ok := typ.(*ast.IndexExpr); ok {
			typ = of.X
		}
		if id, ok := typ.(*ast.Ident); ok && (id.Name == "reply" || id.Name == "cancelable" || id.Name == "request") {
			return true
		}
	}
	return false
}
