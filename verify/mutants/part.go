package main

import "fmt"

// part is one of several parts of all mutants, counted from 1; none is all of them. Whoever
// tries another part each time has tried all in as many runs.
type part struct{ no, of int }

// String implements flag.Value.
func (p *part) String() string {
	if p == nil || p.of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", p.no, p.of)
}

// Set implements flag.Value.
func (p *part) Set(text string) error {
	var rest string
	if n, _ := fmt.Sscanf(text, "%d/%d%s", &p.no, &p.of, &rest); n != 2 || p.no < 1 || p.no > p.of {
		return fmt.Errorf("want a part and the number of parts, such as 2/3")
	}
	return nil
}

// take returns the mutants of the part: one in every p.of, so that each part has some of all kinds.
func (p *part) take(all []mutant) (chosen []mutant) {
	if p.of == 0 {
		return all
	}
	for i := p.no - 1; i < len(all); i += p.of {
		chosen = append(chosen, all[i])
	}
	return chosen
}
