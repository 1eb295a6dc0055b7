// Bookings that are decided later, with each step in a process of its own.

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loophooks/hooks/desk"
	"github.com/loophooks/hooks/examples/travel/modelserver"
	"github.com/loophooks/hooks/examples/travel/saved"
)

// playsMain makes the test binary be the program.
const playsMain = "TRAVEL_TEST_IS_THE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(playsMain) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process makes a process of name with args, in which the test binary is the
// program.
func process(t *testing.T, name string, args ...string) (cmd *exec.Cmd, out, errOut *bytes.Buffer) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), playsMain+"=1", "USER=ana", "OPENAI_BASE_URL=", "OPENAI_MODEL=", "OPENAI_API_KEY=")
	out, errOut = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, errOut
	return cmd, out, errOut
}

// spawn runs the program in a process of its own.
func spawn(t *testing.T, name string, args ...string) outcome {
	t.Helper()
	cmd, out, errOut := process(t, name, args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// program is a link to the program under a name of its own, which the commands
// that it prints are to run.
func program(t *testing.T) string {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "travel's agent")
	if err := os.Symlink(binary, link); err != nil {
		t.Skip("no links here: ", err)
	}
	return link
}

// answerIn is the answer that was printed.
func answerIn(out string) string {
	_, answer, _ := strings.Cut(out, "\nAnswer\n")
	answer, _, _ = strings.Cut(answer, "\n\n")
	return answer
}

var questionID = regexp.MustCompile(`(?m)^Question ([0-9a-f]{64})$`)

// idIn is the ID of the one question that was printed.
func idIn(t *testing.T, out string) string {
	t.Helper()
	found := questionID.FindAllStringSubmatch(out, -1)
	require.Len(t, found, 1, out)
	return found[0][1]
}

// filesIn are the files of a folder, with what they hold.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(raw)
		return err
	}))
	return files
}

// waiting begins a run in a folder, in this process, and returns the folder and the
// ID of the question that it waits for.
func waiting(t *testing.T, args ...string) (dir, id string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state")
	got := travel(t.Context(), t, "", append([]string{"-approve=later", "-state", dir}, args...)...)
	require.Equal(t, exitWaiting, got.status, got.errOut)
	assert.Empty(t, got.errOut)
	return dir, idIn(t, got.out)
}

func TestLater_sameEndInSeveralProcesses(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a shell")
	}
	atOnce := travel(t.Context(), t, "yes\n", "-approve")
	require.Equal(t, exitOK, atOnce.status)

	travel := program(t)
	dir := filepath.Join(t.TempDir(), "the state's folder")
	got := spawn(t, travel, "-approve=later", "-state", dir)
	require.Equal(t, exitWaiting, got.status, got.errOut)
	assert.Empty(t, got.errOut)
	assert.Contains(t, got.out, "  hook    \"ask before booking\" asked about the call of book_ticket\n"+
		"  result  book_ticket: none yet, it waits for a decision\n\n3 turns, 3 tool calls, 1 blocked, ")
	assert.Contains(t, got.out, "\n  Book this ticket?\n  tool       book_ticket\n  arguments  {\"seat_class\":\"tourist\",\"train\":303}\n  until      ")
	id := idIn(t, got.out)
	commands := regexp.MustCompile(`(?m)^  ('.*'? -state .*)$`).FindAllStringSubmatch(got.out, -1)
	require.Len(t, commands, 4, "%s", got.out)
	for i, ends := range []string{"-yes", "-no 'too late in the day'", `-edit '{"seat_class":"tourist","train":303}'`, "-resume"} {
		assert.True(t, strings.HasSuffix(commands[i][1], ends), commands[i][1])
	}
	shell := func(command []string) outcome { return spawn(t, "sh", "-c", command[1]) }

	again := shell(commands[3])
	require.Equal(t, exitWaiting, again.status, again.errOut)
	assert.Equal(t, id, idIn(t, again.out), "it is the question that was asked before")
	assert.NotContains(t, again.out, "Turn 1", "nothing is done twice")

	decided := shell(commands[0])
	require.Equal(t, exitOK, decided.status, decided.errOut)
	assert.Equal(t, id, idIn(t, decided.out))
	assert.Contains(t, decided.out, "  arguments  {\"seat_class\":\"tourist\",\"train\":303}\n")
	assert.Contains(t, decided.out, "\nApproved, once.\n")

	twice := shell(commands[1])
	assert.Equal(t, exitFailed, twice.status)
	assert.Equal(t, "travel: question "+id[:shortID]+" doesn't wait for a decision: it is approved; go on with -resume (decided by ana)\n", twice.errOut)

	end := shell(commands[3])
	require.Equal(t, exitOK, end.status, end.errOut)
	assert.Equal(t, answerIn(atOnce.out), answerIn(end.out))
	assert.Contains(t, end.out, "\n4 turns, 4 tool calls, 1 blocked, ")
	assert.Equal(t, map[string]string{
		".lock":         "",
		"bookings.json": "[\n  {\n    \"reference\": \"R001-t\",\n    \"train\": 303,\n    \"seat_class\": \"tourist\",\n    \"fare\": 24500\n  }\n]",
	}, filesIn(t, dir))

	over := shell(commands[3])
	assert.Equal(t, exitFailed, over.status)
	assert.Equal(t, "travel: there is no run in "+dir+" to go on with; begin one with -approve=later\n", over.errOut)
	over = shell(commands[0])
	assert.Equal(t, exitFailed, over.status)
	assert.Equal(t, "travel: there is no run in "+dir+" that could wait for a decision\n", over.errOut)

	next := spawn(t, travel, "-approve=later", "-state", dir)
	require.Equal(t, exitWaiting, next.status, "the folder is free for another run: %s", next.errOut)
	assert.NotEqual(t, id, idIn(t, next.out))
}

func TestLater_rejected(t *testing.T) {
	t.Parallel()
	dir, id := waiting(t)
	got := travel(t.Context(), t, "", "-state", dir, "-decide", strings.ToUpper(id[:4]), "-no", "take the bus")
	require.Equal(t, exitOK, got.status, got.errOut)
	assert.Contains(t, got.out, "\nRejected; the model reads the reason.\n")
	end := travel(t.Context(), t, "", "-state", dir, "-resume")
	require.Equal(t, exitOK, end.status, end.errOut)
	assert.Contains(t, end.out, `hook    "ask before booking" refused the call of book_ticket: take the bus`)
	assert.Contains(t, answerIn(end.out), "I booked nothing. ")
	assert.Contains(t, answerIn(end.out), "The tourist class seat was refused: take the bus.")
	assert.Contains(t, end.out, ", 2 blocked, ")
	assert.NotContains(t, filesIn(t, dir), "bookings.json")
}

func TestLater_edited(t *testing.T) {
	t.Parallel()
	dir, id := waiting(t)
	got := travel(t.Context(), t, "", "-state", dir, "-decide", id, "-edit", `{"train": 307, "seat_class": "tourist"}`)
	require.Equal(t, exitOK, got.status, got.errOut)
	assert.Contains(t, got.out, "  arguments  {\"seat_class\":\"tourist\",\"train\":303}\n")
	assert.Contains(t, got.out, "  instead    {\"train\": 307, \"seat_class\": \"tourist\"}\n")
	end := travel(t.Context(), t, "", "-state", dir, "-resume")
	require.Equal(t, exitOK, end.status, end.errOut)
	assert.Contains(t, end.out, "  call    book_ticket {\"seat_class\":\"tourist\",\"train\":303}\n")
	assert.Contains(t, end.out, "  edited  book_ticket {\"seat_class\":\"tourist\",\"train\":307}\n")
	assert.Contains(t, answerIn(end.out), "Booked: a tourist class seat to Mar del Plata on Friday, train 307 at 15:30")
	assert.Contains(t, filesIn(t, dir)["bookings.json"], `"train": 307`)
}

func TestLater_editMeetsTheGuards(t *testing.T) {
	t.Parallel()
	dir, id := waiting(t)
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", id, "-edit", `{"train":303,"seat_class":"first"}`).status)
	end := travel(t.Context(), t, "", "-state", dir, "-resume")
	require.Equal(t, exitOK, end.status, end.errOut)
	assert.Contains(t, end.out, `hook    "no first class" refused the call of book_ticket: any class but tourist`)
	assert.Contains(t, answerIn(end.out), "I booked nothing.")
	assert.NotContains(t, filesIn(t, dir), "bookings.json")
}

func TestLater_rejectedAndAskedAboutAnother(t *testing.T) {
	t.Parallel()
	dir, id := waiting(t, "-manager-approved")
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", id, "-no", "too dear").status)
	got := travel(t.Context(), t, "", "-state", dir, "-resume")
	require.Equal(t, exitWaiting, got.status, got.errOut)
	other := idIn(t, got.out)
	assert.NotEqual(t, id, other)
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", other, "-yes").status)
	end := travel(t.Context(), t, "", "-state", dir, "-resume")
	require.Equal(t, exitOK, end.status, end.errOut)
	assert.Contains(t, answerIn(end.out), "Booked: a tourist class seat")
	assert.Contains(t, answerIn(end.out), "The first class seat was refused: too dear.")
}

// What the manager has said goes for all of the run, and so do its limits.
func TestLater_rulesOfTheBeginning(t *testing.T) {
	t.Parallel()
	dir, id := waiting(t, "-manager-approved")
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", id, "-yes").status)
	end := travel(t.Context(), t, "", "-state", dir, "-resume")
	require.Equal(t, exitOK, end.status, end.errOut)
	assert.Contains(t, answerIn(end.out), "Booked: a first class seat")

	for flag, want := range map[string]string{
		"-turn-budget": `stopped by "turn budget": the budget of 3 turns is used up`,
		"-max-turns":   "no answer after 3 turns",
	} {
		dir, id := waiting(t, flag, "3")
		got := travel(t.Context(), t, "", "-state", dir, "-resume", "-approve=later")
		require.Equal(t, exitWaiting, got.status, "the turn that goes on is paid for: %s", got.errOut)
		require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", id, "-yes").status)
		end := travel(t.Context(), t, "", "-state", dir, "-resume")
		assert.Equal(t, exitFailed, end.status)
		assert.Equal(t, "travel: "+want+"\n", end.errOut)
		files := filesIn(t, dir)
		assert.Contains(t, files["bookings.json"], "R001-t")
		assert.NotContains(t, files, "run.json", "there is nothing to go on with")
	}
}

func TestLater_noDocumentIsKept(t *testing.T) {
	t.Parallel()
	clean := func(dir string) {
		files := filesIn(t, dir)
		require.NotEmpty(t, files)
		for name, text := range files {
			assert.NotRegexp(t, `30.?123.?456`, text, name)
		}
	}
	dir, id := waiting(t, "-prompt", "I am DNI 30123456. Book me a seat to Rosario on Friday. My document: DNI 30.123.456.")
	clean(dir)
	for flag, text := range map[string]string{"-no": "not for DNI 30.123.456", "-edit": `{"train":265,"dni":30123456}`} {
		got := travel(t.Context(), t, "", "-state", dir, "-decide", id, flag, text)
		assert.Equal(t, exitUsage, got.status)
		assert.Contains(t, got.errOut, flag+" holds a document number; leave it out")
		clean(dir)
	}
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", id, "-yes").status)
	clean(dir)
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-resume").status)
	clean(dir)
	assert.Contains(t, filesIn(t, dir), "bookings.json")

	// Where a model has made the number up itself.
	for name, call := range map[string]string{
		"in the arguments":      asks("book_ticket", `{"train":303,"seat_class":"tourist","for":"\u0044NI 30.123.456","dni":30123456}`),
		"in arguments, no JSON": asks("find_trains", `DNI 30.123.456`),
	} {
		e := saying(t, call, asks("book_ticket", `{"train":303,"seat_class":"tourist"}`))
		dir := filepath.Join(t.TempDir(), "state")
		got := travel(t.Context(), t, "", e.at("-approve=later", "-state", dir)...)
		require.Equal(t, exitWaiting, got.status, "%s: %s", name, got.errOut)
		clean(dir)
	}
	e := saying(t, strings.Replace(asks("book_ticket", `{"train":303,"seat_class":"tourist"}`), `"id":"1"`, `"id":"DNI 30.123.456"`, 1))
	dir = filepath.Join(t.TempDir(), "state")
	got := travel(t.Context(), t, "", e.at("-approve=later", "-state", dir)...)
	assert.Equal(t, exitFailed, got.status)
	assert.Contains(t, got.errOut, `stopped by "no document numbers": a document number stands in a tool call`)
	clean(dir)
}

func TestLater_wrongDecisions(t *testing.T) {
	t.Parallel()
	dir, id := waiting(t)
	other := "f"
	if strings.HasPrefix(id, other) {
		other = "0"
	}
	before := filesIn(t, dir)
	tests := map[string]struct {
		args []string
		want string
	}{
		"unknown ID":      {[]string{"-decide", other, "-yes"}, "the run has no question " + other + "; -resume tells what it waits for"},
		"no ID at all":    {[]string{"-decide", "../run", "-yes"}, "the run has no question ../run"},
		"edit, no JSON":   {[]string{"-decide", id, "-edit", "train=307"}, "-edit isn't one JSON object"},
		"edit of nothing": {[]string{"-decide", id, "-edit", ""}, "-edit isn't one JSON object"},
		"edit, two keys":  {[]string{"-decide", id, "-edit", `{"train":1,"train":2}`}, "-edit isn't one JSON object"},
		"no reason":       {[]string{"-decide", id, "-no", " "}, "-no is empty; give the reason"},
	}
	for name, tt := range tests {
		got := travel(t.Context(), t, "", append([]string{"-state", dir}, tt.args...)...)
		assert.NotEqual(t, exitOK, got.status, name)
		assert.Contains(t, got.errOut, tt.want, name)
		assert.Equal(t, 1, strings.Count(got.errOut, "\n"), name)
	}
	got := travel(t.Context(), t, "", "-state", filepath.Join(dir, "none"), "-decide", id, "-yes")
	assert.Equal(t, exitFailed, got.status)
	assert.Contains(t, got.errOut, "there is no run in "+filepath.Join(dir, "none"))

	// It must be seen before it is decided.
	assert.Equal(t, exitFailed, run(t.Context(), []string{"-state", dir, "-decide", id, "-yes"}, strings.NewReader(""), full{errors.New("no space left")}, new(bytes.Buffer), noEnv))
	delete(before, "desk/.lock")
	after := filesIn(t, dir)
	delete(after, "desk/.lock")
	assert.Equal(t, before, after, "nothing was decided")
}

func TestLater_folderIsTaken(t *testing.T) {
	t.Parallel()
	dir, id := waiting(t)
	got := travel(t.Context(), t, "", "-approve=later", "-state", dir, "-prompt", "Book me a seat to Rosario on Friday.")
	assert.Equal(t, exitFailed, got.status)
	assert.Equal(t, "travel: there is a run in "+dir+" that isn't over; go on with it by -resume, or give another folder\n", got.errOut)
	assert.Empty(t, got.out, "nothing was begun")

	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", id, "-yes").status)
	unlock, err := saved.Lock(dir) // as another -resume has it
	require.NoError(t, err)
	got = travel(t.Context(), t, "", "-state", dir, "-resume")
	assert.Equal(t, exitFailed, got.status)
	assert.Contains(t, got.errOut, "another process is at the run in "+dir)
	assert.Empty(t, got.out)
	require.NoError(t, unlock())
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-resume").status)

	none := filepath.Join(dir, "none")
	got = travel(t.Context(), t, "", "-state", none, "-resume")
	assert.Equal(t, exitFailed, got.status)
	assert.Contains(t, got.errOut, "there is no run in "+none+" to go on with; begin one with -approve=later\n")
	assert.NoDirExists(t, none)
}

func TestLater_folderThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir, id := waiting(t)
	file := filepath.Join(dir, "run.json")
	good := filesIn(t, dir)["run.json"]
	for _, bad := range []string{"", "{}", strings.Replace(good, `"turn_budget": "8"`, `"turn_budget": "many"`, 1)} {
		require.NoError(t, os.WriteFile(file, []byte(bad), 0o600))
		got := travel(t.Context(), t, "", "-state", dir, "-resume")
		assert.Equal(t, exitFailed, got.status)
		assert.NotContains(t, got.out, "Turn")
		assert.Contains(t, got.errOut, dir)
	}
	require.NoError(t, os.WriteFile(file, []byte(good), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bookings.json"), []byte("{"), 0o600))
	got := travel(t.Context(), t, "", "-state", dir, "-resume")
	assert.Equal(t, exitFailed, got.status)
	assert.Contains(t, got.errOut, "the bookings in ")
	require.NoError(t, os.Remove(filepath.Join(dir, "bookings.json")))
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", id, "-yes").status)
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-resume").status)

	if runtime.GOOS != "windows" {
		open := filepath.Join(t.TempDir(), "open")
		require.NoError(t, os.Mkdir(open, 0o755))
		got := travel(t.Context(), t, "", "-approve=later", "-state", open)
		assert.Equal(t, exitFailed, got.status)
		assert.Contains(t, got.errOut, "is open to others")
	}
}

func TestLater_goesOnWithItsModel(t *testing.T) {
	t.Parallel()
	e := scripted(t)
	dir := filepath.Join(t.TempDir(), "state")
	got := travel(t.Context(), t, "", e.at("-approve=later", "-state", dir)...)
	require.Equal(t, exitWaiting, got.status, got.errOut)
	assert.Contains(t, got.out, " -resume -base-url "+e.url+"\n")
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", idIn(t, got.out), "-yes").status)

	got = travel(t.Context(), t, "", "-state", dir, "-resume")
	assert.Equal(t, exitFailed, got.status)
	assert.Contains(t, got.errOut, "was begun with the model m; give its endpoint with -base-url or in OPENAI_BASE_URL")
	got = travel(t.Context(), t, "", "-state", dir, "-resume", "-base-url", e.url, "-model", "n")
	assert.Equal(t, exitFailed, got.status)
	assert.Contains(t, got.errOut, "was begun with the model m, not n; leave -model out")

	var out, errOut bytes.Buffer
	env := map[string]string{"OPENAI_BASE_URL": e.url, "OPENAI_MODEL": "another"}
	status := run(t.Context(), []string{"-state", dir, "-resume"}, strings.NewReader(""), &out, &errOut, func(k string) string { return env[k] })
	require.Equal(t, exitOK, status, errOut.String())
	assert.Contains(t, out.String(), "Model:   m\n")
	assert.Contains(t, e.bodies[len(e.bodies)-1], `"model":"m"`)

	dir, _ = waiting(t)
	got = travel(t.Context(), t, "", e.at("-state", dir, "-resume")...)
	assert.Equal(t, exitFailed, got.status)
	assert.Contains(t, got.errOut, "was begun with the embedded model; go on without -base-url")
}

// A process that is killed when the ticket is booked, and before the model has
// said so, has lost no more than that: nobody is asked again, and nothing is booked
// again.
func TestLater_killedBehindTheBooking(t *testing.T) {
	t.Parallel()
	model := modelserver.Handler()
	reached, killed := make(chan struct{}), make(chan struct{})
	e := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 4 {
			close(reached)
			<-killed
			return
		}
		model.ServeHTTP(w, r)
	})
	dir := filepath.Join(t.TempDir(), "state")
	got := travel(t.Context(), t, "", e.at("-approve=later", "-state", dir)...)
	require.Equal(t, exitWaiting, got.status, got.errOut)
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", idIn(t, got.out), "-yes").status)

	cmd, _, errOut := process(t, program(t), "-state", dir, "-resume", "-base-url", e.url)
	require.NoError(t, cmd.Start())
	<-reached
	other := travel(t.Context(), t, "", "-state", dir, "-resume", "-base-url", e.url)
	assert.Equal(t, exitFailed, other.status)
	assert.Contains(t, other.errOut, "another process is at the run")
	require.NoError(t, cmd.Process.Kill())
	close(killed)
	require.Error(t, cmd.Wait(), errOut.String())

	end := travel(t.Context(), t, "", "-state", dir, "-resume", "-base-url", e.url)
	require.Equal(t, exitOK, end.status, end.errOut)
	assert.Contains(t, answerIn(end.out), "Booked: a tourist class seat")
	assert.Equal(t, 1, strings.Count(filesIn(t, dir)["bookings.json"], "reference"))
}

// Where it isn't known whether a call that was approved has run, people are asked
// again and told so.
func TestLater_diedWhileBooking(t *testing.T) {
	t.Parallel()
	dir, id := waiting(t)
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", id, "-yes").status)
	d, err := openDesk(dir)
	require.NoError(t, err)
	rec, err := d.Get(t.Context(), id)
	require.NoError(t, err)
	_, used, err := d.Ask(t.Context(), &rec.Question) // and then it died
	require.NoError(t, err)
	require.True(t, used)

	got := travel(t.Context(), t, "", "-state", dir, "-resume")
	require.Equal(t, exitWaiting, got.status, got.errOut)
	assert.Equal(t, id, idIn(t, got.out))
	assert.Contains(t, got.out, "  again      approved 1 times before, and nobody knows whether it was booked\n")
	require.Equal(t, exitOK, travel(t.Context(), t, "", "-state", dir, "-decide", id, "-no", "it is booked").status)
	end := travel(t.Context(), t, "", "-state", dir, "-resume")
	require.Equal(t, exitOK, end.status, end.errOut)
	assert.Contains(t, answerIn(end.out), "refused: it is booked")
}

func TestLater_expired(t *testing.T) {
	t.Parallel()
	dir, id := waiting(t)
	store, err := desk.File(deskIn(dir))
	require.NoError(t, err)
	rec, err := store.Get(t.Context(), id)
	require.NoError(t, err)
	rec.Expires = rec.Created
	require.NoError(t, store.Update(t.Context(), rec))
	got := travel(t.Context(), t, "", "-state", dir, "-decide", id, "-yes")
	assert.Equal(t, exitFailed, got.status)
	assert.Contains(t, got.errOut, "it has expired, which is a no")
	end := travel(t.Context(), t, "", "-state", dir, "-resume")
	require.Equal(t, exitOK, end.status, end.errOut)
	assert.Contains(t, answerIn(end.out), "refused: "+desk.ExpiredReason)
}

// A run that broke off is still there, and says how it goes on.
func TestLater_brokeOff(t *testing.T) {
	t.Parallel()
	model := modelserver.Handler()
	e := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 2 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		model.ServeHTTP(w, r)
	})
	dir := filepath.Join(t.TempDir(), "state")
	got := travel(t.Context(), t, "", e.at("-approve=later", "-state", dir)...)
	assert.Equal(t, exitFailed, got.status)
	assert.Contains(t, got.errOut, "500 Internal Server Error")
	assert.Contains(t, got.errOut, "travel: the run isn't over. Go on with\n")
	got = travel(t.Context(), t, "", "-state", dir, "-resume", "-base-url", e.url)
	require.Equal(t, exitWaiting, got.status, got.errOut)
	assert.NotContains(t, got.out, "Turn 1")
}
