package results

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/loadctl/loadctl/internal/fleet/removal"
	"github.com/loadctl/loadctl/internal/fleet/run"
	"github.com/loadctl/loadctl/pacer"
	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
	"github.com/loadctl/loadctl/report/samples"
	"github.com/loadctl/loadctl/targets"
)

// TestReportDescribesTheRun: a report names the target, who created the run and the commands given to it. It shows no
// secret.
func TestReportDescribesTheRun(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", secretSpec(), run.Options{By: "loadctl 9.8.7"})
		first, second := b.member(r, "a"), b.member(r, "b")
		first.start()
		second.renew()
		for id, host := range map[string]string{"a": "red", "b": "red", "c": "blue"} {
			total := record.NewSnapshot(id, "inc"+id)
			total.Host, total.Final, total.Seq = host, true, 1
			if err := NewJournal(r, id, "inc"+id).Publish(t.Context(), total, total, nil); err != nil {
				t.Fatal(err)
			}
		}
		b.must(r.SetRate(t.Context(), pacer.PerSecond(250), 30*time.Second))
		b.must(r.Pause(t.Context()))
		b.must(r.Pause(t.Context())) // changes nothing
		b.must(r.Resume(t.Context()))
		if _, err := removal.Worker(t.Context(), r, "b", true); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Abort(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		r, err := run.Open(t.Context(), b.client, "x")
		if err != nil {
			t.Fatal(err)
		}
		rep, err := Report(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		d := rep.Described
		if d.Method != "POST" || d.URL != "http://redacted@127.0.0.1:8080/" || d.CreatedBy != "loadctl 9.8.7" || d.Hosts != 2 {
			t.Errorf("%+v", d)
		}
		info, _ := b.client.Info(t.Context(), "server").Result()
		if real := strings.Contains(info, "redis_version:"); real != (d.Redis != "") || real && !strings.Contains(info, "redis_version:"+d.Redis+"\r\n") {
			t.Errorf("version %q of %q", d.Redis, info)
		}
		var given []string
		for _, c := range d.Commands {
			if c.Who != run.Who() || c.At.IsZero() {
				t.Errorf("%+v", c)
			}
			given = append(given, c.Command+" "+c.What)
		}
		if all := strings.Join(given, ", "); all != "create , set-rate 250 per second over 30s, pause , resume , workers rm b, stop " {
			t.Error(all)
		}
		text, err := json.Marshal(rep)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets()[:2] {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s is in %s", secret, text)
			}
		}
	})
}

// TestReportWithoutEvents: if the events cannot be read, the report says so, and has everything else.
func TestReportWithoutEvents(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", constant(100), run.Options{})
		b.client.Set(t.Context(), r.Keys.Events, "no stream", 0)
		rep, err := Report(t.Context(), r)
		if err != nil || len(rep.Notes) != 1 || !strings.HasPrefix(rep.Notes[0], "the run's changes could not be read: ") || rep.Described.URL != "noop://" {
			t.Errorf("%v, %+v", err, rep)
		}
	})
}

// TestListAndFilesDescribe: the list of runs shows the target of each. So does a report of only the workers' files.
func TestListAndFilesDescribe(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		r, _ := b.create("x", secretSpec(), run.Options{By: "loadctl 9.8.7"})
		all, err := run.List(t.Context(), b.client)
		if err != nil || len(all) != 1 || all[0].URL != "http://redacted@127.0.0.1:8080/" || all[0].Method != "POST" || len(all[0].Flags) == 0 {
			t.Errorf("%v, %+v", err, all)
		}
		journal, total := NewJournal(r, "w", "i"), record.NewSnapshot("w", "i")
		journal.Keep(0, total, nil, samples.Set{}, false)
		data, err := journal.Unpublished().MarshalBinary()
		u := new(Unpublished)
		if err == nil {
			err = u.UnmarshalBinary(data)
		}
		if err != nil {
			t.Fatal(err)
		}
		rep, err := FromFiles("x", "gone", []*Unpublished{u})
		if d := rep.Described; err != nil || d.Target() != "POST http://redacted@127.0.0.1:8080/" || d.CreatedBy != "loadctl 9.8.7" || len(d.Flags) == 0 {
			t.Errorf("%v, %+v", err, d)
		}
		for _, secret := range secrets()[:2] {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s is in %s", secret, data)
			}
		}
		// Files stay readable for years. Files of older versions have no description.
		if err := u.UnmarshalBinary([]byte(strings.Replace(string(data), `"described":`, `"other":`, 1))); err != nil {
			t.Error(err)
		}
	})
}

// TestReportsOrderSteps: the steps of a report come in the order of the workload. So do those of a report of only the
// workers' files.
func TestReportsOrderSteps(t *testing.T) {
	each(t, func(t *testing.T, b *bed) {
		s := constant(100)
		s.Target = targets.Spec{Flows: []targets.Flow{{Name: "buy", Steps: []targets.Step{{Name: "login", URL: "noop://"}, {Name: "cart", URL: "noop://"}, {Name: "buy", URL: "noop://"}}}}}
		r, _ := b.create("x", s, run.Options{})
		journal, total := NewJournal(r, "w", "i"), finalSnapshot("w", "i", 1, record.Counts{Sent: 1, Completed: 1})
		for _, name := range []string{"buy", "cart", "login"} {
			total.Step(name).Sent = 1
		}
		if err := journal.Publish(t.Context(), total, total, nil); err != nil {
			t.Fatal(err)
		}
		stored, err := Report(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		journal.Keep(0, total, nil, samples.Set{}, false)
		u := new(Unpublished)
		if err := u.UnmarshalBinary(journal.Unpublished().encoded(t)); err != nil {
			t.Fatal(err)
		}
		alone, err := FromFiles("x", "gone", []*Unpublished{u})
		if err != nil {
			t.Fatal(err)
		}
		for _, rep := range []report.Report{stored, alone} {
			if all := rep.Steps; len(all) != 3 || all[0].Name != "login" || all[1].Name != "cart" || all[2].Name != "buy" {
				t.Errorf("%+v", all)
			}
		}
	})
}
