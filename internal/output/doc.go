// Package output is the room of how documents and terminals are written: text that cannot control a terminal
// (printable), plots (svg), parts of HTML pages (page), rows that several formats show alike (table), and the table of a
// document's formats (format).
package output
