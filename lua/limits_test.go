package lua

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// mostLocals is below the 200 local variables that Lua allows a function to have at a time.
const mostLocals = 180

// TestLocals asserts that no function of a script comes near Lua's limit of local variables, and that no scope declares a
// name twice: the files of a function share one scope, so the later declaration would replace the earlier one unseen.
func TestLocals(t *testing.T) {
	for _, name := range scripts() {
		chunk, err := parse.Parse(strings.NewReader(Text(name)), name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := scope{t: t, script: name}
		s.block(chunk, nil, 0)
		if name == "renew" && s.most < 100 {
			t.Errorf("the largest function of renew has %d local variables: the test does not find them", s.most)
		}
	}
}

// TestLocalsAreFound asserts that TestLocals would find what it looks for.
func TestLocalsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"local a, b\nlocal c":                                  "",
		"local a\nlocal function f() local a end":              "",
		"local a\nlocal a":                                     "a",
		"local function f(x) local x end":                      "x",
		"if true then local y\nlocal y end":                    "y",
		"local f = function() for i = 1, 2 do local i end end": "",
		"local _, a\nlocal _, b":                               "",
	} {
		chunk, err := parse.Parse(strings.NewReader(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		s := scope{}
		s.block(chunk, nil, 0)
		if got := strings.Join(s.twice, ","); got != want {
			t.Errorf("%q: %q declared twice, want %q", text, got, want)
		}
	}
	many := "local a" + strings.Repeat(", a1", 3) + "\ndo local b, c end\nlocal d"
	chunk, _ := parse.Parse(strings.NewReader(many), "x")
	s := scope{}
	if s.block(chunk, nil, 0); s.most != 6 {
		t.Errorf("%d local variables at a time, want 6", s.most)
	}
}

// scripts are the names that Text knows.
func scripts() []string {
	names := []string{"make", "renew", "order", "remove", "right", "snapshot", "set_limit", "all/gcra,sliding_window,gcra"}
	for _, limiter := range []string{"fixed_window", "sliding_log", "sliding_list", "sliding_window", "leaky_bucket", "token_bucket", "gcra"} {
		names = append(names, limiter, "grant/"+limiter, "give_back/"+limiter)
	}
	return names
}

// scope walks through a script.
type scope struct {
	t      *testing.T
	script string
	most   int      // local variables of one function at a time
	twice  []string // names that a block declares twice
}

// block walks through a block whose function has so many locals already, and those of names in this block.
func (s *scope) block(stmts []ast.Stmt, params []string, outside int) {
	names := map[string]bool{}
	n := outside
	declare := func(more []string, line int) {
		for _, name := range more {
			if n++; names[name] && name != "_" {
				s.twice = append(s.twice, name)
				if s.t != nil {
					s.t.Errorf("%s:%d: a block declares %s twice", s.script, line, name)
				}
			}
			names[name] = true
		}
		s.count(n)
	}
	declare(params, 0)
	for _, stmt := range stmts {
		switch x := stmt.(type) {
		case *ast.LocalAssignStmt:
			declare(x.Names, x.Line())
			s.exprs(x.Exprs)
		case *ast.FuncDefStmt:
			s.function(x.Func)
		case *ast.AssignStmt:
			s.exprs(x.Rhs)
		case *ast.FuncCallStmt:
			s.exprs([]ast.Expr{x.Expr})
		case *ast.ReturnStmt:
			s.exprs(x.Exprs)
		case *ast.DoBlockStmt:
			s.block(x.Stmts, nil, n)
		case *ast.WhileStmt:
			s.block(x.Stmts, nil, n)
		case *ast.RepeatStmt:
			s.block(x.Stmts, nil, n)
		case *ast.IfStmt:
			s.block(x.Then, nil, n)
			s.block(x.Else, nil, n)
		case *ast.NumberForStmt: // its variable is outside of the body's scope
			s.block(x.Stmts, nil, n+1)
		case *ast.GenericForStmt:
			s.block(x.Stmts, nil, n+len(x.Names))
		}
	}
}

func (s *scope) count(n int) {
	if s.most = max(s.most, n); n > mostLocals && s.t != nil {
		s.t.Errorf("%s: a function has %d local variables at a time, at most %d may be", s.script, n, mostLocals)
	}
}

func (s *scope) function(f *ast.FunctionExpr) { s.block(f.Stmts, f.ParList.Names, 0) }

func (s *scope) exprs(list []ast.Expr) {
	for _, e := range list {
		switch x := e.(type) {
		case *ast.FunctionExpr:
			s.function(x)
		case *ast.FuncCallExpr:
			s.exprs(x.Args)
		case *ast.TableExpr:
			for _, f := range x.Fields {
				s.exprs([]ast.Expr{f.Value})
			}
		}
	}
}

// TestForms asserts that a form names each of its fields once, and that marks are replaced as table.go says.
func TestForms(t *testing.T) {
	for _, name := range []string{"core", "record", "law", "range", "bare", "call", "head"} {
		f, names := formOf(name), map[string]bool{}
		for _, x := range f.fields {
			names[x.Name] = true
		}
		if len(names) != len(f.fields) || len(names) == 0 {
			t.Errorf("%s: %v name %d fields", name, slices.Sorted(maps.Keys(names)), len(f.fields))
		}
	}
	if len(rangeFields())*8 != rangeSize || len(bareFields())*8 != bare {
		t.Errorf("a range has %d numbers, its target %d; want %d and %d bytes", len(rangeFields()), len(bareFields()), rangeSize, bare)
	}
	for text, want := range map[string]string{
		"'<$letters(head)'":         "'<lllllll'",
		"local $names(head) = x":    "local seq, clockEpoch, now, p, members, wait, version = x",
		"local $names(head a_) = x": "local a_seq, a_clockEpoch, a_now, a_p, a_members, a_wait, a_version = x",
		"f($of(call))":              "f(c.seq, c.weight, c.known, c.version, c.leaving, c.p, c.clockEpoch)",
		"{ $table(call), '^a$' }":   "{ seq = seq, weight = weight, known = known, version = version, leaving = leaving, p = p, clockEpoch = clockEpoch, '^a$' }",
	} {
		if got := expand(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
