package process

import (
	"io"
	"log/slog"

	"layover/config"
)

// NewLogger returns a logger of lines in w, and its level, which may be changed. Auto is
// text on a terminal, where a person reads along, and JSON elsewhere. Both have durations as
// text, such as 5s.
func NewLogger(at slog.Level, format config.LogFormat, w io.Writer) (*slog.Logger, *slog.LevelVar) {
	text := format == config.LogFormatText
	if format == config.LogFormatAuto {
		text = isTerminal(w)
	}
	level := new(slog.LevelVar)
	level.Set(at)
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: durationAsText}
	if text {
		return slog.New(slog.NewTextHandler(w, options)), level
	}
	return slog.New(slog.NewJSONHandler(w, options)), level
}

// durationAsText is for JSON, which has a duration as a number of nanoseconds otherwise.
func durationAsText(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
