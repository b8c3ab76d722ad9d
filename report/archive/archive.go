// Package archive keeps all data of a report in one text file, so that every format can be rendered from it later.
//
//	err := archive.Write(file, rep)
//	rep, err := archive.Read(file) // an archive, or JSON
//
// Reading accepts bytes from anywhere. A newer version is refused by name.
package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/loadctl/loadctl/report"
	"github.com/loadctl/loadctl/report/record"
)

// An archive is text: a first line with the format and its version, then gzip of one JSON object in base64, in lines:
//
//	loadctl archive 1
//	H4sIAAAAAAAA/6pWKkotyC8qUbJSKs5ILMpLVKoFBAAA//8…
//
// So it passes through terminals, mails and standard output unchanged. The gzip checksum covers all of it.
const (
	// Version is the version that this program writes, and the newest that it reads.
	Version = 1

	title   = "loadctl archive "
	columns = 76

	// maxBytes bounds the JSON, maxText the file. A run of 1,024 points and 1,000 workers has about 4 MB.
	maxBytes = 32 << 20
	maxText  = 2 * maxBytes
)

// document is the JSON object: the JSON report and the data that it lacks.
type document struct {
	Report  report.Report     `json:"report"`
	Latency *record.Histogram `json:"latency"`
	Service *record.Histogram `json:"service"`
	Lag     *record.Histogram `json:"lag"`
	Errors  documentErrors    `json:"errors"`
	Steps   documentSteps     `json:"steps,omitempty"`
	Phases  documentPhases    `json:"phases,omitzero"`  // older programs did not write it
	Streams documentStreams   `json:"streams,omitzero"` // of answers in pieces; absent without any
	Series  documentSeries    `json:"series"`
}

// Write writes all data of a report, so that every format can be rendered from it later. [Read] reads it.
func Write(w io.Writer, r report.Report) error {
	text, err := encode(r)
	if err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	return nil
}

// encode encodes r. It refuses a report that could not be read back.
func encode(r report.Report) ([]byte, error) {
	if r.Histograms == nil {
		return nil, report.ErrNoHistograms
	}
	h := r.Histograms
	body, err := json.Marshal(document{r, h.Latency, h.Service, h.Lag, h.Errors, h.Steps, phasesOf(h.Phases), streamsOf(h), h.Series})
	if err != nil {
		return nil, err
	}
	if _, err := decode(body); err != nil {
		return nil, fmt.Errorf("%w; use -o json", err)
	}
	return pack(body)
}

// pack compresses the JSON and prepends the first line.
func pack(body []byte) ([]byte, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(body); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	encoded := base64.StdEncoding.EncodeToString(packed.Bytes())
	text := fmt.Appendf(nil, "%s%d\n", title, Version)
	for len(encoded) > 0 {
		line := encoded[:min(columns, len(encoded))]
		text = append(append(text, line...), '\n')
		encoded = encoded[len(line):]
	}
	return text, nil
}

// Errors of an archive as a whole.
var (
	errNoArchive  = errors.New("it is not an archive of loadctl; write one with -o archive")
	errCutArchive = errors.New("the archive is cut off or damaged; use another copy")
)

// isArchive reports whether a file that begins like this is an archive, of any version.
func isArchive(begin []byte) bool { return bytes.HasPrefix(begin, []byte(title)) }

// readArchive reads what [Write] wrote. The data may come from an untrusted source: readArchive takes bounded memory,
// and refuses contradictions with an error of one line.
func readArchive(r io.Reader) (report.Report, error) {
	text := bufio.NewReader(io.LimitReader(r, maxText))
	if err := readTitle(text); err != nil {
		return report.Report{}, err
	}
	packed := bufio.NewReader(base64.NewDecoder(base64.StdEncoding, text))
	z, err := gzip.NewReader(packed)
	if err != nil {
		return report.Report{}, errCutArchive
	}
	z.Multistream(false)
	body, err := io.ReadAll(io.LimitReader(z, maxBytes+1))
	if len(body) > maxBytes {
		return report.Report{}, fmt.Errorf("the archive unpacks to more than %d MiB; it is not one of loadctl", maxBytes>>20)
	}
	if err != nil {
		return report.Report{}, errCutArchive
	}
	if _, err := packed.ReadByte(); !errors.Is(err, io.EOF) {
		return report.Report{}, errCutArchive // more data follows
	}
	return decode(body)
}

// readTitle reads the first line.
func readTitle(text *bufio.Reader) error {
	begin, err := text.Peek(len(title))
	if err != nil || !isArchive(begin) {
		return errNoArchive
	}
	const longest = len(title) + 20 // the digits of a version
	var line strings.Builder
	for line.Len() < longest {
		b, err := text.ReadByte()
		if err != nil {
			return errCutArchive
		}
		if b == '\n' {
			break
		}
		line.WriteByte(b)
	}
	var of int
	number := strings.TrimSuffix(strings.TrimPrefix(line.String(), title), "\r")
	if _, err := fmt.Sscanf(number, "%d", &of); err != nil || fmt.Sprint(of) != number || of < 1 {
		return errNoArchive
	}
	if of > Version {
		return fmt.Errorf("the archive is of version %d, but this program knows versions up to %d; use a newer loadctl", of, Version)
	}
	return nil
}

// decode reads the JSON of an archive.
func decode(body []byte) (report.Report, error) {
	if len(body) > maxBytes {
		return report.Report{}, fmt.Errorf("the report has more than %d MiB, the limit of an archive", maxBytes>>20)
	}
	if err := checkJSON(body); err != nil {
		return report.Report{}, fmt.Errorf("archive: %w", err)
	}
	var a document
	if err := json.Unmarshal(body, &a); err != nil {
		return report.Report{}, fmt.Errorf("archive: %w", err)
	}
	h := &report.Histograms{Latency: a.Latency, Service: a.Service, Lag: a.Lag, Errors: a.Errors, Steps: a.Steps, Phases: a.Phases.phases(), Series: a.Series}
	a.Report.Histograms = h
	if err := a.Streams.into(h); err != nil {
		return report.Report{}, fmt.Errorf("archive: %w", err)
	}
	if err := check(&a.Report); err != nil {
		return report.Report{}, fmt.Errorf("archive: %w", err)
	}
	a.Report.FillSeries() // older programs wrote fewer members
	return a.Report, nil
}

// ReadJSON reads what render.JSON wrote, as carefully as [readArchive]. The report has no histograms.
func ReadJSON(r io.Reader) (report.Report, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return report.Report{}, err
	}
	if len(body) > maxBytes {
		return report.Report{}, fmt.Errorf("it has more than %d MiB; it is not a report of loadctl", maxBytes>>20)
	}
	if err := checkJSON(body); err != nil {
		return report.Report{}, fmt.Errorf("it is not a report of loadctl: %w", err)
	}
	var rep report.Report
	if err := json.Unmarshal(body, &rep); err != nil {
		return report.Report{}, fmt.Errorf("it is not a report of loadctl: %w", err)
	}
	if rep.SeriesWidthS == 0 {
		return report.Report{}, errors.New("it is not a report of loadctl; write one with -o archive or -o json")
	}
	if err := cmp.Or(checkSeries(&rep), checkSamples(&rep), rep.CheckEvents()); err != nil {
		return report.Report{}, fmt.Errorf("it is not a report of loadctl: %w", err)
	}
	return rep, nil
}

// Read reads a report, from an archive or from JSON.
func Read(r io.Reader) (report.Report, error) {
	text := bufio.NewReader(r)
	if begin, _ := text.Peek(len(title)); len(begin) > 0 && begin[0] == '{' { // a shorter text is an error in both formats
		return ReadJSON(text)
	}
	return readArchive(text)
}
