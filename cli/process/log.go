package process

import (
	"io"
	"log/slog"

	"layover/config"
)

// NewLogger returns a logger of lines in w. Auto is text on a terminal, where a
// person reads along, and JSON elsewhere.
func NewLogger(level slog.Level, format config.LogFormat, w io.Writer) *slog.Logger {
	text := format == config.LogFormatText
	if format == config.LogFormatAuto {
		text = isTerminal(w)
	}
	options := &slog.HandlerOptions{Level: level}
	if text {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
