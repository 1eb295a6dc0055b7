// What is wrong with the command line or the environment is told by the name of
// the flag or variable, with what to give instead; nothing is run.

package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlags_wrong(t *testing.T) {
	t.Parallel()
	const url = "http://localhost/v1"
	tests := map[string]struct {
		args []string
		want string
	}{
		"unknown flag":        {[]string{"-first-class"}, "flag provided but not defined: -first-class"},
		"argument":            {[]string{"Rosario"}, `unexpected argument "Rosario"; the request is given with -prompt`},
		"turns 0":             {[]string{"-max-turns", "0"}, "-max-turns is 0; give at least 1"},
		"turns negative":      {[]string{"-max-turns=-3"}, "-max-turns is -3; give at least 1"},
		"turns no number":     {[]string{"-max-turns", "ten"}, `invalid value "ten" for flag -max-turns`},
		"turns huge":          {[]string{"-max-turns", "99999999999999999999"}, `for flag -max-turns`},
		"budget 0":            {[]string{"-turn-budget", "0"}, "-turn-budget is 0; give at least 1"},
		"budget negative":     {[]string{"-turn-budget", "-1"}, "-turn-budget is -1; give at least 1"},
		"timeout 0":           {[]string{"-timeout", "0s"}, "-timeout is 0s; give more than 0s, like 30s"},
		"timeout negative":    {[]string{"-timeout", "-1m"}, "-timeout is -1m0s; give more than 0s"},
		"timeout unitless":    {[]string{"-timeout", "30"}, `invalid value "30" for flag -timeout`},
		"prompt empty":        {[]string{"-prompt", ""}, "-prompt is empty; give the request"},
		"prompt blank":        {[]string{"-prompt", " \n"}, "-prompt is empty; give the request"},
		"no model":            {[]string{"-base-url", url}, "-base-url needs a model; give its name with -model or in OPENAI_MODEL"},
		"blank model":         {[]string{"-base-url", url, "-model", " "}, "-base-url needs a model"},
		"model without URL":   {[]string{"-model", "m"}, "-model needs an endpoint; give it with -base-url or in OPENAI_BASE_URL"},
		"key without URL":     {[]string{"-api-key", "sk-secret"}, "-api-key needs an endpoint; give it with -base-url or in OPENAI_BASE_URL"},
		"key of two lines":    {[]string{"-base-url", url, "-model", "m", "-api-key", "sk-secret\nX-More: 1"}, "-api-key holds a line break"},
		"URL without scheme":  {[]string{"-base-url", "localhost", "-model", "m"}, "-base-url is wrong: the base URL must be like"},
		"approve with a word": {[]string{"-approve=maybe"}, `invalid boolean value "maybe" for -approve: give -approve, which asks at once, or -approve=later`},
		"approve, later":      {[]string{"-approve", "later", "-state", "d"}, "give -approve=later in one word"},
		"later, no folder":    {[]string{"-approve=later"}, "-approve=later needs a folder for the run; give it with -state"},
		"folder for nothing":  {[]string{"-state", "d"}, "-state is for a run that is decided later"},
		"folder, asks now":    {[]string{"-state", "d", "-approve"}, "-state is for a run that is decided later"},
		"folder empty":        {[]string{"-state", " ", "-resume"}, "-state is empty; give a folder"},
		"folder unreadable":   {[]string{"-state", "a\nb", "-resume"}, "-state holds a line break"},
		"resume, no folder":   {[]string{"-resume"}, "-resume needs the folder of the run; give it with -state"},
		"resume and prompt":   {[]string{"-state", "d", "-resume", "-prompt", "x"}, "-prompt was settled when the run began; leave it out with -resume"},
		"resume and manager":  {[]string{"-state", "d", "-resume", "-manager-approved"}, "-manager-approved was settled when the run began"},
		"resume and limits":   {[]string{"-state", "d", "-resume", "-max-turns", "3"}, "-max-turns was settled when the run began"},
		"resume, asks now":    {[]string{"-state", "d", "-resume", "-approve"}, "a run that is resumed asks as it did before"},
		"resume, never asks":  {[]string{"-state", "d", "-resume", "-approve=false"}, "a run that is resumed asks as it did before"},
		"decide, no folder":   {[]string{"-decide", "a", "-yes"}, "-decide needs the folder of the run; give it with -state"},
		"decide no ID":        {[]string{"-state", "d", "-decide", "", "-yes"}, "-decide is empty; give the ID of the question"},
		"decide and resume":   {[]string{"-state", "d", "-decide", "a", "-yes", "-resume"}, "-decide and -resume are two steps"},
		"decide and run":      {[]string{"-state", "d", "-decide", "a", "-yes", "-prompt", "x"}, "-decide runs nothing; leave -prompt out"},
		"decide and begin":    {[]string{"-state", "d", "-decide", "a", "-yes", "-approve=later"}, "-decide runs nothing; leave -approve out"},
		"decide nothing":      {[]string{"-state", "d", "-decide", "a"}, "-decide needs one of -yes, -no REASON and -edit JSON"},
		"decide yes and no":   {[]string{"-state", "d", "-decide", "a", "-yes", "-no", "x"}, "-decide needs one of -yes, -no REASON and -edit JSON"},
		"decide not yes":      {[]string{"-state", "d", "-decide", "a", "-yes=false"}, "-decide needs one of -yes"},
		"yes to nothing":      {[]string{"-yes"}, "-yes, -no and -edit decide a question; give its ID with -decide"},
		"no to nothing":       {[]string{"-state", "d", "-resume", "-no", "x"}, "-yes, -no and -edit decide a question; give its ID with -decide"},
		"switch with a word":  {[]string{"-trace=maybe"}, `invalid boolean value "maybe" for -trace`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := travel(t.Context(), t, "", tt.args...)
			assert.Equal(t, exitUsage, got.status)
			assert.Contains(t, got.errOut, tt.want)
			assert.Empty(t, got.out)
			assert.NotContains(t, got.errOut, "sk-secret")
		})
	}
}

// Every combination of the three variables and the three flags.
func TestFlags_environment(t *testing.T) {
	t.Parallel()
	values := []string{"", " ", "set"}
	for n := range 3 * 3 * 3 * 8 {
		env := map[string]string{"OPENAI_BASE_URL": values[n%3], "OPENAI_MODEL": values[n/3%3], "OPENAI_API_KEY": values[n/9%3]}
		if env["OPENAI_BASE_URL"] == "set" {
			env["OPENAI_BASE_URL"] = "http://env/v1"
		}
		flags := n / 27
		var args []string
		want := settings{}
		pick := func(bit int, name, value, variable string) (string, string) {
			if flags&bit != 0 {
				args = append(args, name, value)
				return value, name
			}
			return strings.TrimSpace(env[variable]), variable
		}
		var urlFrom, modelFrom, keyFrom string
		want.baseURL, urlFrom = pick(1, "-base-url", "http://flag/v1", "OPENAI_BASE_URL")
		want.model, modelFrom = pick(2, "-model", "flag", "OPENAI_MODEL")
		want.apiKey, keyFrom = pick(4, "-api-key", "flag", "OPENAI_API_KEY")
		problem := ""
		switch {
		case want.baseURL == "" && modelFrom == "-model":
			problem = "-model needs an endpoint"
		case want.baseURL == "" && keyFrom == "-api-key":
			problem = "-api-key needs an endpoint"
		case want.baseURL != "" && want.model == "":
			problem = urlFrom + " needs a model; give its name with -model or in OPENAI_MODEL"
		}
		var errOut bytes.Buffer
		got, err := parseFlags(args, func(k string) string { return env[k] }, &errOut)
		if problem != "" {
			require.ErrorContains(t, err, problem, "%v %q", env, args)
			assert.Equal(t, 1, strings.Count(errOut.String(), "\n"))
			continue
		}
		require.NoError(t, err, "%v %q", env, args)
		assert.Equal(t, []string{want.baseURL, want.model, want.apiKey}, []string{got.baseURL, got.model, got.apiKey})
	}
}

func TestFlags_approve(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]approval{
		"-approve": approveNow, "-approve=now": approveNow, "-approve=true": approveNow, "-approve=1": approveNow,
		"-approve=later": approveLater, "-approve=false": approveNot, "-trace": approveNot,
	} {
		args := []string{arg}
		if want == approveLater {
			args = append(args, "-state", "d")
		}
		got, err := parseFlags(args, noEnv, io.Discard)
		require.NoError(t, err, arg)
		assert.Equal(t, want, got.approve, arg)
	}
}

func TestFlags_variableIsNamed(t *testing.T) {
	t.Parallel()
	for want, env := range map[string]map[string]string{
		"OPENAI_BASE_URL needs a model":     {"OPENAI_BASE_URL": "http://localhost/v1"},
		"OPENAI_BASE_URL is wrong":          {"OPENAI_BASE_URL": "localhost", "OPENAI_MODEL": "m"},
		"OPENAI_API_KEY holds a line break": {"OPENAI_BASE_URL": "http://localhost/v1", "OPENAI_MODEL": "m", "OPENAI_API_KEY": "sk-\nsecret"},
	} {
		var out, errOut bytes.Buffer
		status := run(t.Context(), nil, strings.NewReader(""), &out, &errOut, func(k string) string { return env[k] })
		assert.Equal(t, exitUsage, status)
		assert.Contains(t, errOut.String(), want)
		assert.NotContains(t, errOut.String(), "secret")
		assert.Empty(t, out.String())
	}
}

func TestFlags_embeddedServerInAnyEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{"OPENAI_MODEL": "gpt", "OPENAI_API_KEY": "sk-\x01secret"}
	var out, errOut bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), nil, strings.NewReader(""), &out, &errOut, func(k string) string { return env[k] }), errOut.String())
	assert.Contains(t, out.String(), "Model:   scripted, on the embedded server\n")
}

func TestHelp_notWritten(t *testing.T) {
	t.Parallel()
	assert.Equal(t, exitOK, run(t.Context(), []string{"-h"}, strings.NewReader(""), io.Discard, io.Discard, noEnv))
	assert.Equal(t, exitFailed, run(t.Context(), []string{"-h"}, strings.NewReader(""), io.Discard, full{errors.New("no space")}, noEnv))
}
