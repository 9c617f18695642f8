package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/schema"
)

// A front is the MCP server: its tools, and the engine that runs the jobs.
type front struct {
	// Immutable:
	cfg    config
	log    *slog.Logger
	engine *engine
	server *mcp.Server
	jobs   *ledger
	owed   *answers
	news   *news
	tools  []string // names, in the order in which they were added
	shell  string   // for run_shell_command; "": the server's default

	session atomic.Pointer[mcp.ServerSession] // nil until the host is connected
}

// newFront starts the engine and adds the tools. With a session, it connects until ctx is done.
func newFront(ctx context.Context, cfg config, log *slog.Logger) (*front, error) {
	f := &front{cfg: cfg, log: log, jobs: newLedger(), owed: newAnswers(), news: &news{}}
	if err := f.startEngine(ctx); err != nil {
		return nil, err
	}
	var err error
	if f.shell, err = f.chooseShell(); err != nil {
		return nil, errors.Join(explained("", err), f.close())
	}
	f.server = mcp.NewServer(
		&mcp.Implementation{Name: "shelld-mcp", Title: "shelld", Version: base.Version()},
		&mcp.ServerOptions{
			Instructions: instructions(&cfg),
			Logger:       log,
			Capabilities: capabilities(),
			// The SDK's default is public, which would allow a cache to give a job's output to other users.
			SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
		})
	if cfg.tools != "compact" {
		f.addGemini()
		f.addScreen()
		f.addBash()
		f.addCli()
	}
	if cfg.tools != "seeds" {
		f.addCompact()
	}
	f.addResources()
	return f, nil
}

// startEngine starts a server in this process, or joins the session.
func (f *front) startEngine(ctx context.Context) (err error) {
	p := f.cfg.initializeParams(f.cfg.confirmOptions())
	if f.cfg.session == "" {
		f.engine, err = startEngine(p, f.log, f.notice)
		return err
	}
	f.engine, err = joinSession(ctx, f, p)
	return err
}

// chooseShell returns the shell of the tools whose seeds name bash: bash, if it is installed.
func (f *front) chooseShell() (string, error) {
	if f.cfg.shell != "" {
		return f.cfg.shell, nil
	}
	if f.engine.info.Platform.Shell == "bash" {
		return "", nil
	}
	var p schema.PlatformGetResult
	if err := f.ask(context.Background(), "platform/get", struct{}{}, &p); err != nil {
		return "", err
	}
	if slices.ContainsFunc(p.Shells, func(s schema.InstalledShell) bool { return s.Name == "bash" }) {
		return "bash", nil
	}
	return "", nil
}

// serve serves the host until it is gone or ctx is done. The engine has ended by then.
func (f *front) serve(ctx context.Context, c *conn) error {
	defer context.AfterFunc(ctx, c.Stop)()
	go func() {
		<-f.engine.over // It ends with the connection; if it ends by itself, nothing is left to serve.
		c.Stop()
	}()
	c.settle = f.owed.settled
	// The SDK uses the context only for its values: requests end with the connection, which has answered as many as
	// possible by then.
	session, err := f.server.Connect(context.WithoutCancel(ctx), c, nil)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	f.session.Store(session)
	if err := session.Wait(); err != nil && !errors.Is(err, io.EOF) {
		f.log.Debug("the connection ended", "error", err)
	}
	return nil
}

// close releases everything. No answer is written any more.
func (f *front) close() error {
	err := f.engine.end()
	if m := f.engine.member; m != nil {
		err = errors.Join(err, m.record.Close()) // The ledger's one may be older, if the last connection failed.
	}
	return err
}

// shellOf returns the shell parameter of a start; nil: the default.
func (f *front) shellOf() *string {
	if f.shell == "" {
		return nil
	}
	return new(f.shell)
}

// instructions returns the text that explains to a model how the tools belong together.
func instructions(cfg *config) string {
	var b strings.Builder
	b.WriteString("Commands run on real terminals of their own. Every process that a command starts belongs to it, and ends when the command is ended")
	if cfg.session == "" {
		b.WriteString(" or when this server ends.")
	} else {
		b.WriteString(". Commands go on when this server is started again; others may use the same session and its jobs.")
	}
	if cfg.tools != "compact" {
		b.WriteString(`

run_shell_command starts a command and answers when it has ended, when ai_callback_pattern has matched, or after ai_callback_delay seconds; then it runs on, and its Handle (or PID) is for send_input, read_shell, write_to_shell, jobs and kill. For programs that ask (ed, python, gdb) give ai_callback_pattern their prompt. execute_bash_command waits for the command's end, and takes no input.

CliGetPlatform describes the shell. CliRun runs one command to its end; CliSession starts a shell or a program that stays, CliWrite types into it, CliRead reads what is new, CliStop ends it. CliEnv manages the variables of later commands.`)
	}
	if cfg.tools != "seeds" {
		b.WriteString(`

shell starts a command, or types into a running one, waits for an event (its end, its next question, a pattern, silence, a port), and returns the new output. shell_output reads and searches earlier output, shell_jobs lists, shell_end ends. If a command asks something, the first line of the answer says "waiting for input" with its question: answer it with another call of shell.`)
	}
	b.WriteString("\n\nOutput that was returned is not returned again. Long output is cut in its middle; the mark there names the file or the resource with all of it.")
	return b.String()
}
