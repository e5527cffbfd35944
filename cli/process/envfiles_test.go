package process

import (
	"reflect"
	"testing"
)

func TestEnvFilesBeforeTheVerbComeFirst(t *testing.T) {
	tests := map[string]struct {
		args, rest, files []string
		wrong             bool
	}{
		"none":            {args: []string{"run", "--env-file", "a"}, rest: []string{"run", "--env-file", "a"}},
		"nothing":         {},
		"one":             {args: []string{"--env-file", "a", "run"}, rest: []string{"run"}, files: []string{"a"}},
		"in both forms":   {args: []string{"-env-file=a", "--env-file", "b"}, rest: []string{}, files: []string{"a", "b"}},
		"an equals sign":  {args: []string{"--env-file=a=b", "x"}, rest: []string{"x"}, files: []string{"a=b"}},
		"no name":         {args: []string{"--env-file"}, wrong: true},
		"an empty name":   {args: []string{"--env-file=", "run"}, wrong: true},
		"a flag like it":  {args: []string{"--env-files", "a"}, rest: []string{"--env-files", "a"}},
		"behind the verb": {args: []string{"--env-file", "a", "send", "--env-file", "b"}, rest: []string{"send", "--env-file", "b"}, files: []string{"a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := Process{Args: test.args}
			err := p.TakeEnvFiles()
			if (err != nil) != test.wrong {
				t.Fatal(err)
			}
			if !test.wrong && (!reflect.DeepEqual(p.Args, test.rest) || !reflect.DeepEqual(p.EnvFiles, test.files)) {
				t.Errorf("left %q, files %q", p.Args, p.EnvFiles)
			}
		})
	}
}
