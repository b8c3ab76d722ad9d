package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loadctl/loadctl/internal/fleet/spec"
	"github.com/loadctl/loadctl/internal/proof/await"
)

// TestVersions: programs of two versions side by side refuse each other's runs, or work together with exact counts.
// docs/upgrade.md promises this.
func TestVersions(t *testing.T) {
	nightly(t)
	besides(t)
	dir := anotherVersion(t)
	t.Run("unknown", func(t *testing.T) { unknownParts(t, dir) })
	t.Run("state", func(t *testing.T) { otherState(t, dir) })
	t.Run("same", func(t *testing.T) { sameState(t, dir) })
	if commit := os.Getenv("LOADCTL_OTHER"); commit != "" { // make upgrade
		t.Run("real", func(t *testing.T) { realVersion(t, commit) })
	}
}

// otherState: a program meets a run whose state has another version. It refuses with one line and 104,
// sends nothing, and changes nothing: the run goes on and ends with its exact count.
func otherState(t *testing.T, dir string) {
	for _, other := range []int{spec.Version - 1, spec.Version + 1} {
		state := "OTHER_STATE=" + strconv.Itoa(other)
		t.Run("run of this version, program of "+strconv.Itoa(other), func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.refusedBy(&bed{t: t, redis: b.redis, web: b.web, dir: dir, env: []string{state}})
		})
		t.Run("run of "+strconv.Itoa(other)+", program of this version", func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.dir, b.env = dir, []string{state}
			b.refusedBy(&bed{t: t, redis: b.redis, web: b.web})
		})
	}
}

// refusedBy makes a run of two workers, and lets programs of another version try to take part in it and change it.
func (b *bed) refusedBy(other *bed) {
	b.t.Helper()
	const requests = 2000
	run := []string{"--url", b.web.URL() + "/run", "--qps", "1000", "-n", strconv.Itoa(requests), "--min-workers", "2"}
	waits := other.worker("run", "--wait", "--allow-any")
	await.True(b.t, "a worker that waits for the run", func() bool { return strings.Contains(waits.Stderr.String(), "waiting for the run") })
	ps := []*process{b.worker("run", append(patient(), run...)...)}
	other.refuses(waits)
	refuse := func() {
		b.t.Helper()
		for _, args := range [][]string{{"--allow-any"}, append(patient(), run...), append(slices.Clone(run), "--new")} {
			other.refuses(other.worker("run", args...))
		}
		for _, line := range []string{
			"status run", "workers run", "report run", "watch run", "start run", "set-rate run 5000", "pause run", "resume run", "stop run", "rm run",
			"create run --new --url noop:// --qps 1", "run run --new --url noop:// --qps 1",
		} {
			if out, stderr, code := other.try(strings.Fields(line)...); code != 104 || out != "" || !oneRefusal(stderr) {
				b.t.Errorf("loadctl %s: exit code %d, %s%s", line, code, out, stderr)
			}
		}
	}
	refuse() // while the run waits for workers
	ps = append(ps, b.worker("run", append(patient(), run...)...))
	await.True(b.t, "requests", func() bool { return b.web.Count() >= 10 })
	refuse() // while it runs
	for _, p := range ps {
		p.wait(0)
	}
	refuse() // once it has ended
	if r := b.report("run"); b.web.Count() != requests || r.Audit.Sent != requests || !r.Complete || len(r.Workers) != 2 {
		b.t.Errorf("%d arrived, %+v of %d workers", b.web.Count(), r.Audit, len(r.Workers))
	}
}

// refuses checks that a worker ends with one line about the version.
func (b *bed) refuses(p *process) {
	b.t.Helper()
	p.wait(104)
	lines := strings.Split(strings.TrimSpace(p.Stderr.String()), "\n")
	if last := lines[len(lines)-1]; !oneRefusal(last+"\n") || strings.Count(p.Stderr.String(), "error: ") != 1 || p.Stdout.String() != "" {
		b.t.Errorf("%s%s", p.Stdout.String(), p.Stderr.String())
	}
}

// oneRefusal reports whether a text is one line about another version of a run.
func oneRefusal(text string) bool {
	newer, older := strings.Contains(text, spec.ErrNewer.Error()), strings.Contains(text, spec.ErrOlder.Error())
	return strings.HasPrefix(text, "error: ") && strings.Count(text, "\n") == 1 && newer != older
}

// sameState: programs of two versions with one version of the state share a run, in both directions,
// with an exact count. Each obeys the other's commands.
func sameState(t *testing.T, dir string) {
	for name, first := range map[string]string{"this version creates": "", "the other version creates": dir} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			another := &bed{t: t, redis: b.redis, web: b.web, dir: dir}
			creator := &bed{t: t, redis: b.redis, web: b.web, dir: first}
			creator.loadctl(append(append([]string{"create", "both"}, patient()...), "--url", b.web.URL(), "--qps", "250", "--min-workers", "3")...)
			ps := []*process{b.worker("both", "--allow-any"), another.worker("both", "--allow-any"), b.worker("both", "--allow-any")}
			await.True(t, "requests", func() bool { return b.web.Count() >= 200 })
			another.loadctl("set-rate", "both", "500")
			await.True(t, "requests", func() bool { return b.web.Count() >= 600 })
			b.loadctl("set-rate", "both", "1500")
			b.started(b.web.Count() + 1000)
			another.loadctl("stop", "both")
			for _, p := range ps {
				p.wait(0)
			}
			for _, b := range []*bed{b, another} {
				r := b.report("both")
				if b.whole(r); len(r.Workers) != 3 {
					t.Errorf("%d workers", len(r.Workers))
				}
			}
		})
	}
}

// unknownParts: versions with one version of the state differ in what they can do. A worker refuses a run
// that asks for more than it knows, and the run goes on without it.
func unknownParts(t *testing.T, dir string) {
	t.Parallel()
	b := newBed(t)
	b.dir = dir
	old := &bed{t: t, redis: b.redis, web: b.web}
	field := &bed{t: t, redis: b.redis, web: b.web, dir: dir, env: []string{"OTHER_FIELD=1"}}
	field.loadctl(append(append([]string{"create", "field"}, patient()...), "--url", b.web.URL(), "--qps", "500", "-n", "500", "--min-workers", "1")...)
	b.loadctl(append(append([]string{"create", "scheme"}, patient()...), "--url", "later://host", "--qps", "500", "-n", "500", "--min-workers", "1")...)
	for _, run := range []string{"field", "scheme"} {
		old.refuses(old.worker(run, "--allow-any"))
	}
	if _, stderr, code := old.try("set-rate", "field", "1"); code != 104 || !oneRefusal(stderr) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if n := b.web.Count(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	b.worker("field", "--allow-any").wait(0)
	b.worker("scheme", "--allow-any").wait(0)
	if n := b.web.Count(); n != 500 {
		t.Errorf("%d arrived", n)
	}
	for _, run := range []string{"field", "scheme"} {
		if r := b.report(run); r.Audit.Sent != 500 {
			t.Errorf("%s: %+v", run, r.Audit)
		}
	}
}

// realVersion runs this version beside the one of a commit, in both directions: `make upgrade OTHER=COMMIT`. A worker of the other version takes part in a run with an exact count, or is refused, and then sends nothing.
func realVersion(t *testing.T, commit string) {
	source := t.TempDir()
	dir := filepath.Join(source, "bin") + string(filepath.Separator)
	build := exec.CommandContext(t.Context(), "sh", "-ec", `git -C ../../.. archive "$1" | tar -x -C "$2"; cd "$2"; go build -buildvcs=false -o "$3" ./cmd/loadctl ./cmd/loadworker`,
		"sh", commit, source, dir)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", commit, err, out)
	}
	for name, dirs := range map[string][2]string{"a run of this version": {"", dir}, "a run of " + commit: {dir, ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.dir = dirs[0]
			b.beside(&bed{t: t, redis: b.redis, web: b.web, dir: dirs[1]})
		})
	}
}

// beside lets a worker of another version join a run by its name.
func (b *bed) beside(other *bed) {
	b.t.Helper()
	b.loadctl(append(append([]string{"create", "run"}, patient()...), "--url", b.web.URL(), "--qps", "500", "--min-workers", "2")...)
	ps := []*process{b.worker("run", "--allow-any")}
	guest := other.worker("run", "--allow-any")
	var refused bool
	await.True(b.t, "a refusal, or the start", func() bool {
		select {
		case <-guest.Exited:
			refused = true
		default:
		}
		return refused || b.web.Count() > 0
	})
	if refused {
		text := guest.Stderr.String()
		if code := guest.Cmd.ProcessState.ExitCode(); code == 0 || strings.Count(text, "error: ") != 1 || b.web.Count() != 0 {
			b.t.Errorf("exit code %d, %d requests, %s", code, b.web.Count(), text)
		}
		if _, stderr, code := other.try("stop", "run"); code == 0 || !oneRefusal(stderr) {
			b.t.Errorf("loadctl stop: exit code %d, %s", code, stderr)
		}
		b.t.Log("refused: ", text)
		ps = append(ps, b.worker("run", "--allow-any"))
	} else {
		b.t.Log("they work together")
		ps = append(ps, guest)
		other.loadctl("set-rate", "run", "1000")
	}
	b.started(b.web.Count() + 1000)
	b.loadctl("stop", "run")
	for _, p := range ps {
		p.wait(0)
	}
	b.whole(b.report("run"))
}

// anotherVersion builds the programs of another version. It is this source with changes that a later version may have:
//
//	OTHER_STATE=10   the version of runs in Redis
//	OTHER_FIELD=1    its runs have a setting that this version does not know
//
// It also sends to later://, a scheme that this version does not know.
func anotherVersion(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	replace := map[string]string{}
	for file, changes := range map[string][]string{
		"internal/fleet/spec/spec.go": {
			"import (\n", "import (\n\"os\"\n",
			fmt.Sprintf("const Version = %d\n", spec.Version), fmt.Sprintf(`var Version = func() int {
				if n, err := strconv.Atoi(os.Getenv("OTHER_STATE")); err == nil {
					return n
				}
				return %d
			}()
			`, spec.Version),
			"	CreatedBy string ", "Other bool `json:\"other,omitempty\"`\n	CreatedBy string ",
		},
		"internal/fleet/spec/stored.go": {
			"import (\n", "import (\n\"os\"\n",
			"s.Version = Version\n", "s.Version, s.Other = Version, os.Getenv(\"OTHER_FIELD\") != \"\"\n",
		},
		"targets/schemes.go":       {`{Name: "noop"},`, `{Name: "noop"}, {Name: "later"},`},
		"targets/wire/registry.go": {`[]string{"noop"}`, `[]string{"noop", "later"}`},
	} {
		name, err := filepath.Abs(filepath.Join("../../..", file))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		changed := string(text)
		for i := 0; i < len(changes); i += 2 {
			if !strings.Contains(changed, changes[i]) {
				t.Fatalf("%s does not contain %q", file, changes[i])
			}
			changed = strings.Replace(changed, changes[i], changes[i+1], 1)
		}
		replace[name] = filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(replace[name], []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "-o", dir+string(filepath.Separator), "../../../cmd/loadctl", "../../../cmd/loadworker")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return dir
}
