package doctor

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// wants checks a finding's state, and that it contains all texts.
func wants(t *testing.T, what any, f Finding, state string, says ...string) {
	t.Helper()
	if f.State != state || f.Found == "" || state == Bad && f.Mend == "" {
		t.Errorf("%v: want %s: %+v", what, state, f)
	}
	if strings.ContainsAny(f.Found+f.Mend, "\n\t") {
		t.Errorf("%v: more than a line: %+v", what, f)
	}
	for _, text := range says {
		if !strings.Contains(f.Found+"; "+f.Mend, text) {
			t.Errorf("%v: %+v does not say %q", what, f, text)
		}
	}
}

func TestDescriptors(t *testing.T) {
	for _, c := range []struct {
		connections int
		soft, hard  uint64
		state       string
		says        []string
	}{
		{1000, 1100, 1100, OK, []string{"1100, enough for 1000 connections"}},
		{1000, 1<<64 - 1, 1<<64 - 1, OK, nil},
		{1000, 1099, 4096, Bad, []string{"1100 file descriptors are needed, 1099 are allowed; ulimit -n 1100; or --max-connections 999"}},
		{1000, 256, 256, Bad, []string{"ulimit -n 1100 as root", "LimitNOFILE=", "or --max-connections 156"}},
		{1, 101, 101, OK, nil},
		{1, 100, 100, Bad, []string{"101 file descriptors"}},
	} {
		f := judgeDescriptors(c.connections, c.soft, c.hard)
		wants(t, c, f, c.state, c.says...)
		if c.soft <= spare && strings.Contains(f.Mend, "--max-connections") {
			t.Errorf("%+v: no number of connections is small enough: %s", c, f.Mend)
		}
	}
}

func TestPorts(t *testing.T) {
	for _, c := range []struct {
		connections, ports, addresses int
		state                         string
		says                          string
	}{
		{28232, 28232, 1, OK, "28232, enough for 28232 connections"},
		{28233, 28232, 1, Bad, "28233 local ports are needed, but there are 28232; sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"; " +
			"or use more local addresses with --laddr, or --max-connections 28232"},
		{64512, 28232, 1, Bad, "sysctl"},
		{64513, 64512, 1, Bad, "use more local addresses with --laddr, or --max-connections 64512"},
		{56464, 28232, 2, OK, "56464, enough for 56464 connections"},
		{56465, 28232, 2, Bad, "56465 local ports are needed, but there are 56464; sysctl"},
		{129025, 64512, 2, Bad, "or --max-connections 129024"},
	} {
		f := judgePorts(c.connections, c.ports, c.addresses)
		wants(t, c, f, c.state, c.says)
		if c.connections > allPorts*c.addresses && strings.Contains(f.Mend, "sysctl") {
			t.Errorf("%+v: no range is large enough: %s", c, f.Mend)
		}
	}
	for text, want := range map[string]int{"32768\t60999\n": 28232, "1024 65535": 64512, "5 5": 1, "9 8": 0, "": 0, "many": 0, "7": 0} {
		ports, known := portRange(fstest.MapFS{"proc/sys/net/ipv4/ip_local_port_range": {Data: []byte(text)}})
		if ports != want || known != (want > 0) {
			t.Errorf("%q: %d, %t", text, ports, known)
		}
	}
	wants(t, "no such file", localPorts(machine{files: fstest.MapFS{}, connections: 1 << 20}), OK, "unknown")
}

func TestPreflight(t *testing.T) {
	for _, err := range []error{Descriptors(1), Ports(1, 0), Ports(1, 2)} {
		if err != nil {
			t.Errorf("one connection: %v", err)
		}
	}
	if err := preflight(9, warn("not much", "")); err != nil {
		t.Errorf("a warning is an error: %v", err)
	}
	err := preflight(9, judgeDescriptors(9, 101, 101))
	if want := "open 9 connections: 109 file descriptors are needed, 101 are allowed; ulimit -n 109 as root"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	// If the limit of this process and the number of ports are known, they are finite.
	const most = 1 << 40
	for name, err := range map[string]error{"descriptors": Descriptors(most), "local ports": Ports(most, 1)} {
		i := slices.IndexFunc(Machine(most, 0), func(f Finding) bool { return f.Check == name })
		if f := Machine(most, 0)[i]; (err != nil) != (f.State == Bad) {
			t.Errorf("%s: %v, but the check says %+v", name, err, f)
		}
	}
}

func TestCPU(t *testing.T) {
	wants(t, 1, judgeCores(1), Warn, "2 or more cores")
	wants(t, 2, judgeCores(2), OK, "2")
	wants(t, "half", judgeCPULimit(0.5, 2), Warn, "0.5 CPUs for 2 threads", "to 2 CPUs")
	wants(t, "all", judgeCPULimit(2, 2), OK, "2 CPUs")
	wants(t, "no files", cpuLimit(machine{files: fstest.MapFS{}}), OK, "none")
}

func TestCgroupLimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  float64 // 0 = none
	}{
		{"no limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, 0},
		{"a container's own", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5},
		{"the lowest counts", map[string]string{
			"proc/self/cgroup":            "4:memory:/x\n0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.max":   "400000 100000\n",
			"sys/fs/cgroup/a/cpu.max":     "50000 100000\n",
			"sys/fs/cgroup/cpu.max":       "max 100000\n",
			"sys/fs/cgroup/other/cpu.max": "1000 100000\n",
		}, 0.5},
		{"a path of another name space", map[string]string{"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2},
		{"version 1", map[string]string{"proc/self/cgroup": "1:cpu:/x\n"}, 0},
		{"nonsense", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "1 0\n"}, 0},
		{"no such file", nil, 0},
	} {
		files := fstest.MapFS{}
		for name, text := range c.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if cpus, limited := cgroupLimit(files); cpus != c.want || limited != (c.want > 0) {
			t.Errorf("%s: %v, %t", c.name, cpus, limited)
		}
	}
}

// TestMachine: every check has a name and a text, on any machine.
func TestMachine(t *testing.T) {
	findings := Machine(1, 0)
	if len(findings) != len(machineChecks()) {
		t.Errorf("%d findings", len(findings))
	}
	for i, f := range findings {
		if f.Check != machineChecks()[i].name || f.Found == "" || severity(f) < 0 {
			t.Errorf("%+v", f)
		}
	}
	if n := Problems(append(findings, bad("", ""), warn("", ""), bad("", ""))); n != 2 {
		t.Errorf("%d problems", n)
	}
}

func TestTextsCannotSteerATerminal(t *testing.T) {
	f := bad("a\x1b[2Jb\nc", strings.Repeat("é\t", 1000)).of("x")
	if f.Check != "x" || f.Found != "a [2Jb c" || f.Mend != strings.Repeat("é ", 350) {
		t.Errorf("%+v", f)
	}
}
