package report

import "fmt"

// Line is a figure that is not one of a structure's.
type Line struct {
	What, Measured string
	Wanted         string // "" where there is no goal
	Met            *bool  // nil without a goal
}

// Lines is a table of such figures.
func Lines(title string, lines []Line) string {
	t := table{{"What", "measured", "wanted", "verdict"}}
	for _, l := range lines {
		verdict := ""
		if l.Met != nil {
			verdict = "missed"
			if *l.Met {
				verdict = "met"
			}
		}
		t = append(t, []string{l.What, l.Measured, l.Wanted, verdict})
	}
	return fmt.Sprintf("\n### %s\n\n%s", title, t.markdown())
}
