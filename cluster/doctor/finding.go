package doctor

// Status is the result of one check.
type Status string

// The results of a check, as JSON has them.
const (
	OK      Status = "ok"
	Warn    Status = "warn"    // works, and will not for ever or not for everything
	Fail    Status = "fail"    // records are late, lost or not read at all, until it is mended
	Unknown Status = "unknown" // could not be asked
	Skipped Status = "skipped" // does not apply, or a check before it failed
)

// Finding is what one check found. Its members' names in JSON are documented.
type Finding struct {
	ID     string `json:"id"` // stable, such as "broker-names"
	Status Status `json:"status"`
	Found  string `json:"found"` // what there is, in one sentence
	Why    string `json:"why"`   // why it matters
	Fix    string `json:"fix"`   // the command, setting or YAML that mends it; "" where nothing has to be mended
}

// Bad reports whether somebody has to look at the finding.
func (f Finding) Bad() bool { return f.Status == Warn || f.Status == Fail }
