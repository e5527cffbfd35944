package config

import (
	"maps"
	"slices"
	"strings"
)

// prefix is the beginning of all our own variables.
const prefix = "LAYOVER_"

// unknownNames returns one warning for each name that has our prefix, is set
// to something, and is no setting, in the order of the names. Those that ask for
// TLS or a login are refused elsewhere. Values are never part of a warning: a
// misspelt name may hold anything.
func unknownNames(env map[string]string) []string {
	known := Known()
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		setting, isTwin := strings.CutSuffix(name, fileSuffix)
		if !strings.HasPrefix(name, prefix) || env[name] == "" || isForeign(name, env[name]) || slices.Contains(known, setting) {
			continue
		}
		if _, security := misnamed(name); security {
			continue // which is refused
		}
		warning := "unknown variable " + printable(name) + " is ignored"
		if asksForHTTPS(setting) {
			warnings = append(warnings, warning+": HTTP is served over TLS where "+httpTLSCert+" and "+httpTLSKey+" are set")
			continue
		}
		// The suffix that all twins share makes none of them nearer.
		if nearest := nearestName(setting, known); nearest != "" {
			if isTwin {
				nearest += fileSuffix
			}
			warning += ", the nearest known name is " + nearest
		} else {
			warning += ", no known name is near it"
		}
		warnings = append(warnings, warning)
	}
	return warnings
}

// asksForHTTPS reports whether a name would switch TLS of the HTTP port on. There is no such
// switch, and the nearest known name is about Kafka.
func asksForHTTPS(name string) bool {
	word := strings.NewReplacer("_", "", "ENABLED", "", "ENABLE", "", "USE", "", "SSL", "TLS").Replace(withoutPrefix(name))
	return word == "HTTPTLS" || word == "HTTPS" || word == "TLSHTTP"
}

// isForeign reports whether others set a variable: the tests, or Kubernetes for a
// Service whose name begins with layover.
func isForeign(name, value string) bool {
	return strings.HasPrefix(name, "LAYOVER_TEST_") || isServiceLink(name, value)
}

// nearestName returns the name in known with the smallest edit distance to
// name, as Nearest does. Prefixes do not count: all of ours are equal, and
// LAYOVER_BROKERS means KAFKA_BROKERS.
func nearestName(name string, known []string) string {
	word := withoutPrefix(name)
	if len(word) > maxQuoted {
		return "" // no known name is half as long, and the cost is quadratic
	}
	return nearest(word, known, withoutPrefix)
}

// Nearest returns the first name in known with the smallest edit distance to name, upper
// and lower case being the same. It returns "" where more than half of the letters differ
// from each. The cost is the product of the lengths, for each name in known.
func Nearest(name string, known []string) string {
	return nearest(name, known, func(whole string) string { return whole })
}

func nearest(word string, known []string, part func(string) string) string {
	found, least := "", -1
	for _, candidate := range known {
		other := part(candidate)
		longer := max(len(word), len(other))
		if apart := longer - min(len(word), len(other)); 2*apart > longer {
			continue // the distance is that at least
		}
		d := editDistance(strings.ToLower(word), strings.ToLower(other))
		if 2*d <= longer && (least < 0 || d < least) {
			found, least = candidate, d
		}
	}
	return found
}

func withoutPrefix(name string) string {
	_, word, _ := strings.Cut(name, "_")
	return word
}

// editDistance is Levenshtein's: the fewest bytes to insert, delete or replace
// that make a into b. The cost is the product of the lengths.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1) // distances of the prefixes of b to a[:i]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
