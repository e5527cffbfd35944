package config

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"layover/delay"
)

// Auto is a setting of the Go runtime that Layover chooses, leaves alone, or
// takes from the user.
type Auto struct {
	Mode  AutoMode
	Value int64 // a count, or bytes; above 0 with AutoValue, else 0
}

// AutoMode names the chooser of the value of an [Auto].
type AutoMode string

// The modes of an Auto.
const (
	AutoAuto  AutoMode = "auto" // Layover, from the machine
	AutoOff   AutoMode = "off"  // the Go runtime
	AutoValue AutoMode = "set"  // the user
)

// UnmarshalText reads auto, off, a number or a size; an error leaves a as it
// was. Having it also keeps envconfig from taking a's fields for settings.
func (a *Auto) UnmarshalText(text []byte) error {
	word := strings.ToLower(string(text))
	if mode := AutoMode(word); mode == AutoAuto || mode == AutoOff {
		*a = Auto{Mode: mode}
		return nil
	}
	value, err := parseSize(string(text))
	if err != nil {
		return fmt.Errorf("%s %w", quote(string(text)), err)
	}
	*a = Auto{Mode: AutoValue, Value: value}
	return nil
}

// String returns auto, off or the plain number.
func (a Auto) String() string {
	if a.Mode == AutoValue {
		return strconv.FormatInt(a.Value, 10)
	}
	return string(a.Mode)
}

// decode reads text, which is not empty, into the field of s. The error is the
// reason alone, without the variable. It leaves the field as it was, except that a
// list has its right entries. The field's type decides, and the tag kind where the
// type is only a string.
func (s *setting) decode(text string) error {
	switch field := s.field.Addr().Interface().(type) {
	case *time.Duration:
		return within(s, text, parseDuration, field)
	case *int64:
		return within(s, text, parseSize, field)
	case *int:
		var n int64
		if err := within(s, text, parseNumber, &n); err != nil {
			return err
		}
		*field = int(n)
	case *Auto:
		return s.decodeAuto(text, field)
	case *bool:
		choice, err := s.choose(text)
		if err != nil {
			return err
		}
		*field = choice == "true"
	case *slog.Level:
		choice, err := s.choose(text)
		if err != nil {
			return err
		}
		return field.UnmarshalText([]byte(choice))
	case *[]string:
		if s.kind == "presets" {
			return decodePresets(text, field)
		}
		return s.decodeList(text, field)
	case *[]delay.Mapping:
		return decodeHeaderMap(text, field)
	case *delay.Added:
		return decodeAdded(text, field)
	case *[]TopicTarget:
		return decodeTargets(text, field)
	case *[]TopicDelay:
		return decodeDelays(text, field)
	case *delay.Backoff:
		return field.UnmarshalText([]byte(text))
	case *string:
		if err := s.checkValue(text); err != nil {
			return err
		}
		*field = text
	case *Secret:
		if err := s.checkValue(text); err != nil {
			return err
		}
		*field = secretOf(secret{text: text, kind: s.kind})
	default:
		choice, err := s.choose(text)
		if err != nil {
			return err
		}
		s.field.SetString(choice)
	}
	return nil
}

// decodeDefault leaves the literal default in the field of s, if there is one.
func (s *setting) decodeDefault() {
	if s.literal == "" {
		return
	}
	if err := s.decode(s.literal); err != nil {
		panic("config: the default of " + s.Variable + ": " + err.Error()) // a test loads them all
	}
}

// within parses text into out if it lies in the range of s. An error of parse
// continues a sentence that began with the value.
func within[T ~int64](s *setting, text string, parse func(string) (T, error), out *T) error {
	v, err := parse(text)
	if err != nil {
		return fmt.Errorf("%s %w, want %s", quote(text), err, s.Values)
	}
	least, errMin := parse(s.min)
	most, errMax := parse(s.max)
	if errMin != nil || errMax != nil || v < least || v > most {
		return fmt.Errorf("%s is out of range, want %s", quote(text), s.Values)
	}
	*out = v
	return nil
}

// decodeAuto reads a word, or a value that is a count or a size by kind.
func (s *setting) decodeAuto(text string, out *Auto) error {
	var words Auto
	if err := words.UnmarshalText([]byte(text)); err == nil && words.Mode != AutoValue {
		*out = words
		return nil
	}
	parse := parseSize
	if s.kind == "number" {
		parse = parseNumber
	}
	value := Auto{Mode: AutoValue}
	if err := within(s, text, parse, &value.Value); err != nil {
		return err
	}
	*out = value
	return nil
}

// choose returns the choice of s that is text but for case.
func (s *setting) choose(text string) (string, error) {
	for _, choice := range s.choices {
		if strings.EqualFold(choice, text) {
			return choice, nil
		}
	}
	return "", fmt.Errorf("%s is no choice, want %s", quote(text), s.Values)
}

// checkValue checks a string that is no list. A URL is not repeated in the error: it
// may have a login in front of its host, and a token behind its path.
func (s *setting) checkValue(text string) error {
	err := s.check(text)
	if err == nil || s.isURL() {
		return err
	}
	return fmt.Errorf("%s %w", quote(text), err)
}

// check checks a string, or one entry of a list, by the kind of s.
func (s *setting) check(text string) error {
	switch s.kind {
	case "brokers":
		return checkBroker(text)
	case "topics", "topic":
		return checkTopic(text)
	case "targets":
		return checkTarget(text)
	case "instance":
		return checkName(text)
	case "client":
		return checkClient(text)
	case "group":
		return checkGroup(text)
	case "journal":
		return checkTemplate(text)
	case "runs":
		return checkRuns(text)
	case "text", "words":
		return checkText(text)
	case "password", "token":
		return checkLine(text)
	case "certificates", "key":
		return nil // the rules read them
	case "host":
		return checkHost(text)
	case "region":
		return checkRegion(text)
	case "url", "container", "link":
		return checkURL(text, s.kind)
	case "extensions":
		return checkExtension(text)
	default:
		return checkListen(text)
	}
}
