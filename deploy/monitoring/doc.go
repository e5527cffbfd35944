// Package monitoring has alert rules for Prometheus, a dashboard for Grafana, and an
// example of how to scrape. There is no code here but the tests, which hold these files
// to the metrics that a running Layover exposes.
package monitoring
