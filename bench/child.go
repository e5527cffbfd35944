package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"layover/bench/measure"
)

// childFlag, as the first argument and with a measure.Spec in JSON after it,
// makes the program one measurement and nothing else.
const childFlag = "-child"

// childPatience bounds a measurement. One that takes longer hangs: of
// RussellLuo/timingwheel this is known.
const childPatience = 5 * time.Minute

// runChild measures in this process and writes the result as JSON.
func runChild(args []string, stdout io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("%s: want one argument", childFlag)
	}
	var spec measure.Spec
	if err := json.Unmarshal([]byte(args[0]), &spec); err != nil {
		return fmt.Errorf("%s: %w", childFlag, err)
	}
	result, err := measure.Run(spec)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(result)
}

// measureInChild measures in a fresh process, so that no measurement finds the
// heap of another.
func measureInChild(ctx context.Context, spec measure.Spec, stderr io.Writer) (measure.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, childPatience)
	defer cancel()
	child := exec.CommandContext(ctx, self, childFlag, string(encoded))
	child.Stderr = stderr
	out, err := child.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("stopped: %w", ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	var result measure.Result
	err = json.Unmarshal(out, &result)
	return result, err
}
