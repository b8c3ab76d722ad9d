// Package output is the room of how documents and terminals are written: text that cannot control a terminal
// (printable), plots (svg), parts of HTML pages (page), and the table of a document's formats (format).
package output
