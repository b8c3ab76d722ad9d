package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/runflags"
	"github.com/loadctl/loadctl/internal/console/try"
	"github.com/loadctl/loadctl/internal/engine/auth"
	"github.com/loadctl/loadctl/targets"
)

// NewTryCommand returns the command that sends one request, or one flow, and shows all of it. others are the schemes of the
// program besides ours.
func NewTryCommand(others ...targets.Scheme) *cobra.Command {
	var output cli.Output
	var f tryFlags
	c := &cobra.Command{
		Use:   "try [URL]",
		Short: "Send one request, or one flow step by step, and show all of it",
		Long: `Send one request, or each step of one flow, and show what curl -v would and more: the address, TLS
and the certificate, what was sent, what came, the time of each phase, what each check said, and
what each step took from its answer. Give the flags of the run. It needs no Redis.

The workers' own engine sends it, so the request is that of a run. The steps of a flow follow each
other at once: their pauses are left out. As in a run, a flow ends with a step that failed.
Redirects that --redirects follows are shown one by one.

Secrets are shown as [redacted]: values of headers that are not known to be harmless, and members,
parameters and columns with the names of secrets. --show-secrets shows all.

The exit code is 0 if all went well, 99 if a request or a check failed, and 104 if the command line
has to be changed, so that nothing of the run was sent. See docs/try.md.`,
		Example: `  loadctl try https://api.example.com/ --http 2 -H @headers --check 'json status = "up"'
  loadctl try --workload shop.yaml --flow buy --row 7`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := cmp.Or(output.Check(), f.check(c, args)); err != nil {
				return err
			}
			done, err := f.try(c)
			if err != nil {
				return err
			}
			if err := output.Print(c.OutOrStdout(), done, done.Text); err != nil {
				return err
			}
			if err := done.Err(); err != nil {
				return cli.Failed(err)
			}
			return nil
		},
	}
	f.spec.Schemes = others
	f.AddFlags(c)
	output.AddFlags(c, "text", "json")
	return c
}

// tryFlags say what is sent, and how much of it is shown.
type tryFlags struct {
	spec    runflags.Spec
	own     certificate
	choice  try.Choice
	body    runflags.Size
	redact  []string
	secrets bool
}

func (f *tryFlags) AddFlags(c *cobra.Command) {
	f.spec.AddTargetFlags(c)
	f.spec.Sends = true
	f.own.AddFlags(c)
	f.body = 2 << 10
	s := pflag.NewFlagSet("try", pflag.ContinueOnError)
	s.StringVar(&f.choice.Flow, "flow", "", "`NAME` of the flow to send, of --workload or --targets (default: that of the first slot)")
	s.Int64Var(&f.choice.Row, "row", 0, "send the first request that gets row `N` of its data file, from 1; of the flow's first one, if it uses several")
	s.Int64Var(&f.choice.Ordinal, "ordinal", 0, "send the request of slot `N` of the run, from 0: it fills ${ordinal}, and chooses flow and rows")
	s.Var(&f.body, "body-bytes", "how much of each body to show, 0 to 64KiB")
	s.StringArrayVar(&f.redact, "redact", nil, "`NAME` of a header, a parameter or a member that is a secret too; may be repeated")
	s.BoolVar(&f.secrets, "show-secrets", false, "show secrets")
	c.Flags().AddFlagSet(s)
}

// check checks the flags. args may have the URL.
func (f *tryFlags) check(c *cobra.Command, args []string) error {
	for _, url := range args {
		f.spec.Request(url)
	}
	f.choice.Exactly = c.Flags().Changed("ordinal")
	empty := func(name string) bool { return strings.TrimSpace(name) == "" }
	switch {
	case c.Flags().Changed("row") && f.choice.Row < 1:
		return cli.Config(errors.New("--row: give a number from 1"))
	case f.choice.Ordinal < 0:
		return cli.Config(errors.New("--ordinal: give a number from 0"))
	case f.choice.Row > 0 && f.choice.Exactly:
		return cli.Config(errors.New("--row and --ordinal: both choose the slot; give one of them"))
	case c.Flags().Changed("flow") && f.choice.Flow == "":
		return cli.Config(errors.New("--flow: give the name of a flow"))
	case f.body < 0 || f.body > try.MostBody:
		return cli.Config(errors.New("--body-bytes: give 0 to 64KiB"))
	case slices.ContainsFunc(f.redact, empty):
		return cli.Config(errors.New("--redact: give the name of a header, a parameter or a member"))
	}
	return nil
}

// try sends what the flags say.
func (f *tryFlags) try(c *cobra.Command) (*try.Done, error) {
	f.spec.Local = targets.Local{Cert: f.own.cert, Key: f.own.key}
	asked, err := f.spec.Spec(c.InOrStdin())
	if err != nil {
		return nil, err
	}
	slot, err := f.choice.Slot(asked.Target, asked.Requests)
	if err != nil {
		return nil, cli.Config(err)
	}
	source, err := auth.Open(c.Context(), asked.Target.Auth, auth.Options{CA: asked.Target.CA}, slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)))
	if err != nil {
		return nil, cli.Config(fmt.Errorf("%w; nothing was sent", err))
	}
	defer source.Close()
	t := try.Trial{Spec: asked.Target, Slot: slot, Body: int(f.body), Names: f.redact, Secrets: f.secrets}
	t.Local = f.spec.Local
	t.Local.Worker, t.Local.Tables, t.Local.Credential = "try", f.spec.Data().Tables, source.Credential()
	done, err := t.Run(c.Context())
	if err != nil && c.Context().Err() != nil {
		return nil, fmt.Errorf("no answer came yet: %w", context.Cause(c.Context()))
	}
	return done, cli.Config(err)
}

// A certificate is that of this client.
type certificate struct{ cert, key string }

// AddFlags adds its flags.
func (f *certificate) AddFlags(c *cobra.Command) {
	s := pflag.NewFlagSet("certificate", pflag.ContinueOnError)
	s.StringVar(&f.cert, "cert", "", "`FILE` with the client certificate (PEM); it never leaves this machine")
	s.StringVar(&f.key, "key", "", "`FILE` with the private key for --cert (PEM); it never leaves this machine")
	cli.Group(s, "Connections")
	c.Flags().AddFlagSet(s)
}
