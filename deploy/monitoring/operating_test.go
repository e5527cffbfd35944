package monitoring

import "regexp"

// operating is the document with a section for each alert.
const operating = "docs/operating.md"

// metricName is how a metric of Layover looks in running text.
var metricName = regexp.MustCompile(`layover_[a-z][a-z0-9_]*[a-z]`)
