// Package render writes a report in each of its formats.
//
//	err := render.Text(os.Stdout, rep)
//	write, err := render.Format("junit")
//	err = write(file, rep)
//
// To add a format, write one file with a [Renderer], and add one line to table.
package render
