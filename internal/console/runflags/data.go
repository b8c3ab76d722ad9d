package runflags

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/fleet/files"
	"github.com/loadctl/loadctl/targets"
	"github.com/loadctl/loadctl/targets/rows"
)

// mostData is the largest size of a data file, in bytes. Its rows stay in memory.
const mostData = 1 << 30

// mostFiles is the largest number of data files of a run.
const mostFiles = 16

// Data is what --data has read.
type Data struct {
	Tables targets.Tables // for the worker of this process
	Files  files.Files    // for workers that join by name, without those that are too large
}

// dataHelp is the help of --data.
const dataHelp = "`FILE[,name=NAME][,pick=PICK][,seed=N]`: .csv, .tsv or .jsonl file whose rows fill ${NAME.COLUMN}. NAME is that of the file. " +
	"PICK is cycle (default), once, shuffle or random; once ends the run with the last row. May be repeated. See docs/workloads.md#data-files"

// readData reads the files of --data.
func readData(texts []string) ([]rows.Source, Data, error) {
	d := Data{Tables: targets.Tables{}, Files: files.Files{}}
	if len(texts) > mostFiles {
		return nil, d, fmt.Errorf("--data: at most %d files", mostFiles)
	}
	var sources []rows.Source
	for _, text := range texts {
		s, err := d.read(text)
		if err != nil {
			return nil, d, fmt.Errorf("--data %.200q: %w", text, err)
		}
		sources = append(sources, s)
	}
	return sources, d, nil
}

// read reads one file.
func (d *Data) read(text string) (rows.Source, error) {
	path, options, _ := strings.Cut(text, ",")
	if path == "" {
		return rows.Source{}, errors.New("give a file first, as in users.csv,pick=once")
	}
	s := rows.Source{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Pick: rows.Cycle}
	if err := setOptions(&s, options); err != nil {
		return s, err
	}
	return s, cmp.Or(d.load(&s, path, path), s.Validate())
}

// load reads the rows of a file. The ending of name says in which format, here and on each worker.
func (d *Data) load(s *rows.Source, path, name string) error {
	content, err := cli.ReadAtMost(path, mostData)
	if err != nil {
		return err
	}
	table, err := rows.Read(name, content)
	if err != nil {
		return err
	}
	s.Columns, s.Rows, s.SHA256, s.Bytes = table.Columns(), table.Rows(), table.SHA256(), table.Bytes()
	d.Tables[s.SHA256] = table
	if len(content) <= files.Most {
		d.Files[s.SHA256] = files.File{Name: filepath.Base(name), Content: content}
	}
	return nil
}

// setOptions reads what follows the file.
func setOptions(s *rows.Source, options string) error {
	if options == "" {
		return nil
	}
	given := map[string]bool{}
	for option := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		if given[name] {
			return fmt.Errorf("%.20s is given twice; leave one out", name)
		}
		given[name] = true
		switch name {
		case "name":
			s.Name = value
		case "pick":
			s.Pick = value
		case "seed":
			seed, err := strconv.ParseUint(value, 10, 53)
			if err != nil || seed == 0 {
				return fmt.Errorf("seed %.20q: give a whole number from 1 on", value)
			}
			s.Seed = seed
		default:
			return fmt.Errorf("there is no option %.20q; use name=NAME, pick=PICK, seed=N", name)
		}
	}
	if s.Seed > 0 && s.Pick != rows.Shuffle && s.Pick != rows.Random {
		return fmt.Errorf("seed and pick=%.20s: only shuffle and random have a seed; leave it out", s.Pick)
	}
	return nil
}
