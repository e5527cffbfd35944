package process

import (
	"io"
	"log/slog"

	"layover/config"
)

// NewLogger returns a logger of lines in w, and its level, which may be changed. Auto is
// text on a terminal, where a person reads along, and JSON elsewhere.
func NewLogger(at slog.Level, format config.LogFormat, w io.Writer) (*slog.Logger, *slog.LevelVar) {
	text := format == config.LogFormatText
	if format == config.LogFormatAuto {
		text = isTerminal(w)
	}
	level := new(slog.LevelVar)
	level.Set(at)
	options := &slog.HandlerOptions{Level: level}
	if text {
		return slog.New(slog.NewTextHandler(w, options)), level
	}
	return slog.New(slog.NewJSONHandler(w, options)), level
}
