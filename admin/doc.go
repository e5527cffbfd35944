// Package admin shows Layover to the outside: probes, metrics and status over
// HTTP.
//
//	GET /livez     200, or 503 naming our own loop that stands still
//	GET /readyz    200, with a list of the sick things; or 503 with the thing waited for
//	GET /startupz  200: this server answers, so the configuration was valid
//	GET /metrics   Prometheus and OpenMetrics
//	GET /status    everything that an operator asks at night, as JSON, or as a
//	               page where HTML is preferred
//	GET /          this list with the present state, as text, or as a page of links
//
// It asks a Source for one Sample a request. It derives every answer from that sample
// and the time, so an answer does not contradict itself. A series exists as long as
// the sample has its topic, target or partition. Its only state of its own are the
// last 15 minutes of some numbers, for the lines of the page.
//
// It never asks Kafka and never waits for the engine: a probe answers with
// brokers down and with a lane that is busy. It is not a control surface; nothing
// it serves changes anything, and other methods than GET and HEAD get a 405.
//
// A second server, [Control], is for operators alone and on an address of its own:
//
//	GET  /debug/pprof/  profiles, as of net/http/pprof
//	GET  /log-level     the level of the log
//	POST /log-level?level=debug
//
// The numbers add up. Of the series in /metrics, each summed over its labels,
//
//	  layover_ingress_records_total
//	+ layover_runs_loaded_records_total =
//	    layover_delivered_records_total
//	  + layover_dead_lettered_records_total
//	  + layover_dropped_records_total
//	  + layover_ended_records_total
//	  + layover_cancels_total
//	  + layover_waiting_cancels
//	  + layover_parked_records
//	  + layover_in_flight_records
//	  - layover_waiting_events
//	  + layover_handed_over_records_total
//	  + layover_ingress_records_total{outcome="skipped"}
//	  + layover_unfinished_records_total
//	  + layover_runs_moved_records_total
//	  + layover_runs_moving_records
//
// where unfinished is more than 0 only with a partition that an error of its
// target has halted. Each lane's numbers are taken at one instant, so this holds
// in every scrape, not just when nothing is going on. /status has the difference
// of the two sides as counters.unaccounted. layover_overdue_records is no part
// of the sum: it counts the parked records that are due, and those in flight. Nor is
// layover_runs_records: what is in runs topics may have been moved by another process.
package admin
