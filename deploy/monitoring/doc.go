// Package monitoring is what watches Layover: alert rules for Prometheus and a
// dashboard for Grafana, beside an example of how to scrape. There is no code here but
// the tests, which hold both files to what a running Layover really exposes.
package monitoring
