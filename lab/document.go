//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// report runs experiments and writes their results into the document, or prints them. It writes each result as soon as
// its experiment is over, so that an interruption loses no earlier results.
func (b *bench) report(ctx context.Context, chosen []experiment, file string) error {
	began := time.Now()
	if err := publish(file, &section{name: "versions"}, b.describe()); err != nil {
		return err
	}
	for _, e := range chosen {
		b.say("%s: %s", e.name, e.what)
		s := &section{name: e.name}
		if err := e.run(ctx, b, s); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if err := publish(file, s, s.render()+"Machine: "+machine()+".\n\n"); err != nil {
			return err
		}
	}
	b.say("took %v", time.Since(began).Round(time.Second))
	return nil
}

// describe returns with which versions the benchmark ran.
func (b *bench) describe() string {
	var out strings.Builder
	fmt.Fprintf(&out, "loadworker %s, redis-server %s", b.worker, b.redis.version)
	for _, t := range b.tools {
		fmt.Fprintf(&out, ", %s %s", t.name, t.version)
	}
	out.WriteString(".\n\n")
	for _, m := range b.missing {
		fmt.Fprintf(&out, "Not measured: %s.\n\n", m)
	}
	if b.quick {
		out.WriteString("**One short round each, to see that it works: these figures mean nothing.**\n\n")
	}
	return out.String()
}

// publish puts a section into its place in a document, and writes its plots beside the document. If no file is named,
// it prints the section.
func publish(file string, s *section, text string) error {
	if file == "" {
		_, err := fmt.Printf("## %s\n\n%s", s.name, text)
		return err
	}
	old, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("-out: %w; give a Markdown file with marked places", err)
	}
	fresh, err := replace(string(old), s.name, text)
	if err != nil {
		return fmt.Errorf("-out %s: %w", file, err)
	}
	dir := strings.TrimSuffix(file, filepath.Ext(file))
	for name, svg := range s.plots {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(svg), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(file, []byte(fresh), 0o644)
}

// replace puts text between the marks of a name:
//
//	<!-- bench:NAME -->
//	<!-- /bench:NAME -->
func replace(document, name, text string) (string, error) {
	begin, end := "<!-- bench:"+name+" -->\n", "<!-- /bench:"+name+" -->"
	before, rest, ok := strings.Cut(document, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("there is no place marked %s…%s", strings.TrimSpace(begin), end)
	}
	return before + begin + "\n" + text + end + after, nil
}
