// Command report measures the rows and pairs of package bench, and writes
// README.md with their tables and bench.svg with the picture of the rows.
//
// Run it in the bench folder:
//
//	go run ./report           # measure and write both
//	go run ./report -quick    # half a minute, prints the page, writes nothing
//	go run ./report -from results.json    # write both again from the last run
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := report(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func report(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(stderr)
	quick := flags.Bool("quick", false, "one short round, to see that it works: its figures mean nothing")
	rounds := flags.Int("rounds", 11, "how often to go over all rows")
	benchTime := flags.String("benchtime", "150ms", "how long to measure each figure in each round")
	out := flags.String("out", ".", "folder to write README.md and bench.svg into; with -quick nothing is written by default")
	data := flags.String("data", "results.json", "file to save the samples in; not with -quick")
	from := flags.String("from", "", "don't measure, take the samples from this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *rounds < 1 {
		return fmt.Errorf("-rounds %d: at least one is needed", *rounds)
	}
	set := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	if *quick {
		if !set["rounds"] {
			*rounds = 1
		}
		if !set["benchtime"] {
			*benchTime = "1ms"
		}
		if !set["out"] {
			*out = ""
		}
		*data = ""
	}

	var r *results
	var err error
	if *from != "" {
		r, err = load(*from)
	} else {
		r, err = measure(ctx, plan{dir: ".", rounds: *rounds, benchTime: *benchTime, progress: stderr})
	}
	if err != nil {
		return err
	}
	if *from == "" {
		r.Environment.Command = strings.TrimSpace("go run ./report " + strings.Join(args, " "))
		if *data != "" {
			if err := r.save(*data); err != nil {
				return err
			}
		}
	}
	page, err := markdown(r)
	if err != nil {
		return err
	}
	if *out == "" {
		_, err := io.WriteString(stdout, page)
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(*out, "bench.svg"), []byte(picture(r)), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(*out, "README.md"), []byte(page), 0o644)
}
