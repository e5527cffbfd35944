package process

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"layover/config"
)

func TestADurationIsLoggedAsText(t *testing.T) {
	for format, want := range map[config.LogFormat]string{
		config.LogFormatText: `for=5s with=1m0s in.took=1.5s`,
		config.LogFormatJSON: `"for":"5s","with":"1m0s","in":{"took":"1.5s"}`,
	} {
		var out bytes.Buffer
		log, _ := NewLogger(slog.LevelInfo, format, &out)
		log.With("for", 5*time.Second).Info("x", "with", time.Minute, slog.Group("in", "took", 1500*time.Millisecond))
		if !strings.Contains(out.String(), want) {
			t.Errorf("%v: %s has no %s", format, out.String(), want)
		}
	}
}
