package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadctl/loadctl/internal/console/cli"
	"github.com/loadctl/loadctl/internal/console/doctor"
	"github.com/loadctl/loadctl/internal/console/runflags"
	"github.com/loadctl/loadctl/internal/output/printable"
	"github.com/loadctl/loadctl/targets"
)

// doctorTime bounds all checks of Redis together. Cleaning up on a server that hangs may take 2 s more.
const doctorTime = 8 * time.Second

// diagnosis is the output of doctor.
type diagnosis struct {
	OK       bool             `json:"ok"` // no finding is bad
	Findings []doctor.Finding `json:"findings"`
}

// NewDoctorCommand returns the command that finds problems of the machine, of Redis and of an endpoint. others are the schemes
// of the program besides ours.
func NewDoctorCommand(redis *cli.Redis, others ...targets.Scheme) *cobra.Command {
	var output cli.Output
	var f doctorFlags
	c := &cobra.Command{
		Use:   "doctor [URL]",
		Short: "Check this machine, Redis and an endpoint, and say how to fix problems",
		Long: `Check this machine and the Redis server the way a worker will use them: limits, version, clock,
memory, permissions. To check Redis, doctor creates a run and removes it at once. Without --redis it
leaves Redis out.

With a URL, doctor also checks the endpoint, as this machine reaches it. Give the flags of the run,
such as --http 2. doctor opens one connection to each server, looks at the address, TLS, the
certificate and the protocol, and closes it. With --http auto it opens two. It sends no request of
the run, but over WebSocket a handshake, to a Redis INFO server, and over gRPC questions for
reflection and health. Over tcp and udp it sends one payload if --reply expects an answer.

The exit code is 0 if no finding is bad. There may still be warnings.`,
		Example: `  loadctl doctor --redis redis://10.0.0.5:6379 --expect-workers 200
  loadctl doctor https://api.example.com/ --http 2 --streams 50`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := cmp.Or(output.Check(), f.check(args)); err != nil {
				return err
			}
			findings, err := f.diagnose(c, redis)
			if err != nil {
				return err
			}
			if c.Context().Err() != nil {
				return context.Cause(c.Context())
			}
			problems := doctor.Problems(findings)
			d := diagnosis{problems == 0, findings}
			if err := output.Print(c.OutOrStdout(), d, func(w io.Writer) error { return printFindings(w, findings) }); err != nil {
				return err
			}
			return problemError(problems)
		},
	}
	output.AddFlags(c, "text", "json")
	f.spec.Schemes = others
	f.AddFlags(c)
	return c
}

// doctorFlags say what is checked beside Redis.
type doctorFlags struct {
	spec                 runflags.Spec
	own                  certificate
	connections, workers int
}

func (f *doctorFlags) AddFlags(c *cobra.Command) {
	f.spec.AddTargetFlags(c)
	f.own.AddFlags(c)
	s := c.Flags()
	s.IntVar(&f.connections, "max-connections", 1000, "how many connections a worker on this machine will open")
	s.IntVar(&f.workers, "expect-workers", 0,
		"check that Redis takes `N` workers (maxclients), and that this machine allows a Redis as many descriptors; 0 = not checked")
}

// check checks the flags. args may have the URL.
func (f *doctorFlags) check(args []string) error {
	for _, url := range args {
		f.spec.Request(url)
	}
	switch {
	case f.connections < 1 || f.connections > 1_000_000:
		return cli.Config(errors.New("--max-connections: give a number from 1 to 1000000"))
	case f.workers < 0 || f.workers > 1_000_000:
		return cli.Config(errors.New("--expect-workers: give a number from 1 to 1000000, or 0 for none"))
	}
	return nil
}

// diagnose returns all findings. An error says that the flags do not describe requests.
func (f *doctorFlags) diagnose(c *cobra.Command, redis *cli.Redis) ([]doctor.Finding, error) {
	aim, err := f.aim(c)
	if err != nil {
		return nil, err
	}
	findings, holders := f.diagnoseRedis(c.Context(), redis)
	findings = append(findings, doctor.Machine(f.connections, f.workers)...)
	if aim != nil {
		aim.Redis = holders
		findings = append(findings, doctor.Endpoint(c.Context(), *aim)...)
	}
	return findings, nil
}

// aim returns where requests go; nil if there are none.
func (f *doctorFlags) aim(c *cobra.Command) (*doctor.Aim, error) {
	if !f.spec.Given(c) && f.own == (certificate{}) {
		return nil, nil
	}
	described, err := f.spec.Spec(c.InOrStdin())
	if err != nil {
		return nil, err
	}
	local := targets.Local{Cert: f.own.cert, Key: f.own.key, Worker: "doctor", Tables: f.spec.Data().Tables}
	return &doctor.Aim{Spec: described.Target, Local: local}, nil
}

// diagnoseRedis checks the given server, and returns which ones may hold runs. A missing --redis is a finding too.
func (f *doctorFlags) diagnoseRedis(ctx context.Context, redis *cli.Redis) ([]doctor.Finding, doctor.Holders) {
	if _, err := redis.Address(); err != nil {
		return []doctor.Finding{{
			Check: "reachable", State: doctor.Warn,
			Found: "no Redis given, so none was checked", Mend: "give --redis redis://host:port, or set LOADCTL_REDIS",
		}}, doctor.Holders{}
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	redis.Warn(nil) // the finding says it
	client, err := redis.Connect(ctx)
	if err != nil {
		return []doctor.Finding{doctor.Unreachable(err)}, doctor.Holders{}
	}
	defer cli.Close(client)
	return doctor.Redis(ctx, client, f.workers), doctor.FindHolders(ctx, client)
}

func problemError(n int) error {
	switch n {
	case 0:
		return nil
	case 1:
		return cli.Config(errors.New("doctor found 1 problem; fix it and run doctor again"))
	default:
		return cli.Config(fmt.Errorf("doctor found %d problems; fix them and run doctor again", n))
	}
}

// printFindings prints a line for each finding, and below it what to do.
func printFindings(w io.Writer, findings []doctor.Finding) error {
	mark := map[string]string{doctor.OK: "ok", doctor.Warn: "warn", doctor.Bad: "BAD"}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		printable.Fprintf(t, "%s\t%s\t%s\n", mark[f.State], f.Check, f.Found)
		if f.Mend != "" {
			printable.Fprintf(t, "\t\t  %s\n", f.Mend)
		}
	}
	return t.Flush()
}
