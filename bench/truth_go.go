// Answer with go/types what names of Go mean: `go run truth_go.go ROOT`, sites from the standard input, one JSON list of
// places for each. Each folder is checked as its package, its package with tests and its outer test package.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

type site struct {
	Path   string `json:"path"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

type place [2]any

func main() {
	root, err := filepath.EvalSymlinks(os.Args[1])
	if err != nil {
		panic(err)
	}
	if err := os.Chdir(root); err != nil {
		panic(err)
	}
	files := token.NewFileSet()
	from := importer.ForCompiler(files, "source", nil)
	meant := map[string]types.Object{}
	check := func(name string, parsed []*ast.File) {
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		config := types.Config{Importer: from, Error: func(error) {}, FakeImportC: true}
		config.Check(name, files, parsed, info)
		for ident, object := range info.Uses {
			at := files.Position(ident.Pos())
			key := fmt.Sprintf("%s:%d:%d", at.Filename, at.Line, at.Column)
			if _, known := meant[key]; !known {
				meant[key] = object
			}
		}
	}
	filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		if name := entry.Name(); path != root && (strings.HasPrefix(name, ".") || name == "vendor" || name == "testdata") {
			return filepath.SkipDir
		}
		pkg, err := build.ImportDir(path, 0)
		if err != nil {
			return nil
		}
		parse := func(names []string) (found []*ast.File) {
			for _, name := range names {
				if file, err := parser.ParseFile(files, filepath.Join(path, name), nil, 0); err == nil {
					found = append(found, file)
				}
			}
			return found
		}
		check(pkg.Name, append(parse(pkg.GoFiles), parse(pkg.TestGoFiles)...))
		check(pkg.Name+"_test", parse(pkg.XTestGoFiles))
		return nil
	})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		var asked site
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		found := []place{}
		key := fmt.Sprintf("%s:%d:%d", filepath.Join(root, asked.Path), asked.Line, asked.Column+1)
		if object := meant[key]; object != nil {
			found = append(found, where(files, root, object))
		}
		told, _ := json.Marshal(found)
		fmt.Println(string(told))
	}
}

func where(files *token.FileSet, root string, object types.Object) place {
	if !object.Pos().IsValid() {
		return place{"", 0}
	}
	at := files.Position(object.Pos())
	inner, err := filepath.Rel(root, at.Filename)
	if err != nil || strings.HasPrefix(inner, "..") {
		return place{"", 0}
	}
	return place{filepath.ToSlash(inner), at.Line}
}
