// Package show writes samples in each of its formats: for people, for programs, for the tools of browsers, and as commands.
//
//	chosen, err := show.Filter{Class: "status"}.Choose(all)
//	write, err := show.Formats().Renderer("har")
//	err = write(file, show.Selection{Run: "checkout", Samples: chosen})
//
// To add a format, write one file with a renderer, and add one line to Formats.
//
// Samples may come from anybody. No text in them steers a terminal, and no command that is made of them runs another one or
// reads a file.
package show
