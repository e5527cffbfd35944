package endtoend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"layover/cluster"
)

// status is the part of /status that is looked at.
type status struct {
	Ready  bool `json:"ready"`
	Pauses []struct {
		Reason, Target string
	} `json:"pauses"`
	Parked struct {
		Records int64 `json:"records"`
		Bytes   int64 `json:"bytes"` // of the lanes, as they count
		Memory  int64 `json:"memory"`
		PauseAt int64 `json:"pause_at"` // memory
	} `json:"parked"`
	InFlight   int64 `json:"in_flight"`
	Duplicates struct {
		Total int64 `json:"total"`
	} `json:"duplicates_after_a_kill"`
	Assignments []struct {
		Loaded bool  `json:"loaded"`
		Low    int64 `json:"low_offset"`
		Read   int64 `json:"read_offset"`
	} `json:"assignments"`
	Journal struct {
		Records   int64 `json:"records_written"`
		Bytes     int64 `json:"bytes_written"`
		Snapshots int64 `json:"snapshots"`
		Deletions int64 `json:"deletions"`
		Live      int64 `json:"live_bytes"`
		Restored  int64 `json:"restored_records"`
		LastMs    int64 `json:"last_restore_ms"`
	} `json:"journal"`
	Runs struct {
		Topics []struct {
			Usable bool   `json:"usable"`
			Text   string `json:"text"`
		} `json:"topics"`
		Records    int64   `json:"records"`
		Bytes      int64   `json:"bytes"`
		LogBytes   int64   `json:"log_bytes"`
		Runs       int64   `json:"runs"`
		Moving     int64   `json:"moving"`
		Moved      int64   `json:"moved"`
		Cleaned    int64   `json:"cleaned"`
		Loaded     int64   `json:"loaded"`
		Lost       int64   `json:"lost"`
		Visits     int64   `json:"visits"`
		LateVisits int64   `json:"late_visits"`
		AheadSecs  float64 `json:"read_ahead_seconds"`
	} `json:"runs"`
	Counters struct {
		Commits      int64 `json:"commits"`
		Delivered    int64 `json:"delivered"`
		DeadLettered int64 `json:"dead_lettered"`
		Dropped      int64 `json:"dropped"`
		Unaccounted  int64 `json:"unaccounted"`
	} `json:"counters"`
}

func (b *bench) status(ctx context.Context) (status, error) { return askStatus(ctx, b.http) }

// askStatus asks the daemon at addr. It closes the connection, so that a daemon that
// is not asked has none.
func askStatus(ctx context.Context, addr string) (s status, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/status", nil)
	if err != nil {
		return s, err
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		return s, fmt.Errorf("/status: %w", err)
	}
	return s, nil
}

// agreeWithin is how long the daemon may take to hear of its last deliveries and
// to publish them.
const agreeWithin = 5 * time.Second

// agree waits until the daemon's own books agree with ours, or says how they do not.
func (b *bench) agree(ctx context.Context, a account) error {
	for by := time.Now().Add(agreeWithin); ; {
		s, err := b.status(ctx)
		if err != nil {
			return err
		}
		fault := s.fault(b.Records, a.sent+a.again)
		if fault == nil || time.Now().After(by) {
			return fault
		}
		if err := cluster.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// fault compares the daemon's own books with ours, when all short delays are
// through: nil, or what does not agree.
func (s status) fault(parked, delivered int) error {
	c := s.Counters
	if s.Parked.Records != int64(parked) || c.Delivered != int64(delivered) || c.DeadLettered+c.Dropped+c.Unaccounted != 0 {
		return fmt.Errorf("/status has %d parked, %d delivered, %d dead-lettered, %d dropped, %d unaccounted: want %d parked, %d delivered and no other",
			s.Parked.Records, c.Delivered, c.DeadLettered, c.Dropped, c.Unaccounted, parked, delivered)
	}
	return nil
}

// read is how far all partitions were read.
func (s *status) read() (n int64) {
	for _, a := range s.Assignments {
		n += a.Read
	}
	return n
}

// window is how many offsets of ingress a restart finds between what is finished and what was read.
func (s *status) window() (n int64) {
	for _, a := range s.Assignments {
		n += a.Read - a.Low
	}
	return n
}
