package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"layover/bench/measure"
	"layover/bench/report"
	"layover/bench/rival"
)

// A plan is what to measure.
type plan struct {
	only  *regexp.Regexp // names of structures
	sizes []int
	runs  int
}

// smallSize is below which sizes are for the plots: unless one is the largest, it
// is measured with uniform delays only. Measurements are repeated smallRuns times
// as often, because they take milliseconds and vary more.
const (
	smallSize = 1_000_000
	smallRuns = 3
)

func quickSizes() []int { return []int{1_000_000} }

func fullSizes() []int { return []int{10_000, 100_000, 1_000_000, 6_000_000, 10_000_000} }

// kinds are the structures to measure.
func (p plan) kinds() []rival.Kind {
	var kinds []rival.Kind
	for _, k := range rival.Kinds() {
		if p.only.MatchString(k.Name) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// delays are those measured with n records.
func (p plan) delays(n int) []measure.Delays {
	all := measure.AllDelays()
	if n < smallSize && n < slices.Max(p.sizes) {
		return all[:1]
	}
	return all
}

// runsOf is how often a size is measured with these delays. Sizes in the middle
// get one run with delays other than the first kind, to save a quarter of the
// time.
func (p plan) runsOf(n int, delays string) int {
	switch {
	case n < smallSize:
		return p.runs * smallRuns
	case delays != measure.AllDelays()[0].Name && n > smallSize && n < slices.Max(p.sizes):
		return 1
	}
	return p.runs
}

// rounds are the measurements in their order. Structures take turns, so that
// whatever else the machine does hits all alike. The first run of everything is
// over before the second begins.
func (p plan) rounds() [][]measure.Spec {
	var rounds [][]measure.Spec
	for run := range p.runs * smallRuns {
		for _, n := range p.sizes {
			for _, delays := range p.delays(n) {
				if run < p.runsOf(n, delays.Name) {
					rounds = append(rounds, p.round(run, n, delays.Name))
				}
			}
		}
	}
	return rounds
}

// round is one measurement of each part of each structure.
func (p plan) round(run, n int, delays string) []measure.Spec {
	var specs []measure.Spec
	for _, part := range measure.Parts() {
		for _, k := range p.kinds() {
			specs = append(specs, measure.Spec{Rival: k.Name, Delays: delays, Pending: n, Part: part, Run: run})
		}
	}
	return specs
}

// carryOut measures everything. What fails is tried once more, and then missing
// from the figures and named in failed.
func (p plan) carryOut(ctx context.Context, progress io.Writer) (figures report.Figures, failed []string) {
	figures = report.Figures{}
	rounds := p.rounds()
	for i, round := range rounds {
		began := time.Now()
		for _, s := range round {
			result, err := p.measure(ctx, s, progress)
			switch {
			case ctx.Err() != nil:
				return figures, append(failed, "everything after an interruption")
			case err != nil:
				failed = append(failed, fmt.Sprintf("%s: %v", s, err))
			default:
				figures.Add(s, result)
			}
		}
		fmt.Fprintf(progress, "%d of %d: run %d, %s, %d pending: %.0f s\n",
			i+1, len(rounds), round[0].Run+1, round[0].Delays, round[0].Pending, time.Since(began).Seconds())
	}
	return figures, failed
}

func (p plan) measure(ctx context.Context, s measure.Spec, progress io.Writer) (measure.Result, error) {
	result, err := measureInChild(ctx, s, progress)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(progress, "%s: once more, after: %v\n", s, err)
		s.Again = true
		result, err = measureInChild(ctx, s, progress)
	}
	return result, err
}
