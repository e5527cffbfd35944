package admin

import (
	"mime"
	"strconv"
	"strings"
)

// prefersHTML says whether a client would rather have HTML than JSON, by its
// Accept headers and section 12.5.1 of RFC 9110. A tie goes to JSON: scripts ask
// with */* or without any Accept, browsers name text/html.
//
// The most specific range that matches a representation has its say, wherever
// it stands; of equally specific ones the first. What is no media range, or has
// a weight that is none, is passed over.
func prefersHTML(accept []string) bool {
	html := offer{major: "text", minor: "html"}
	json := offer{major: "application", minor: "json"}
	if len(accept) == 0 {
		return false // anything is acceptable, so this is a tie
	}
	for _, element := range elements(strings.Join(accept, ",")) {
		if r, ok := parseRange(element); ok {
			html.consider(r)
			json.consider(r)
		}
	}
	return html.weight > json.weight
}

// offer is a representation, and what the ranges so far say of it.
type offer struct {
	major, minor string
	specificity  int // of the range that set the weight; 0: none has
	weight       int // in thousandths; 0: not acceptable
}

func (o *offer) consider(r mediaRange) {
	if s := r.specificity(o); s > o.specificity {
		o.specificity, o.weight = s, r.weight
	}
}

// mediaRange is one element of an Accept header.
type mediaRange struct {
	major, minor string // either may be *
	charset      bool   // asks for UTF-8, which both offers are in
	weight       int    // in thousandths
}

// specificity returns how closely r describes o, and 0 if it does not.
func (r *mediaRange) specificity(o *offer) int {
	switch {
	case r.major == o.major && r.minor == o.minor && r.charset:
		return 4
	case r.major == o.major && r.minor == o.minor:
		return 3
	case r.major == o.major && r.minor == "*":
		return 2
	case r.major == "*" && r.minor == "*":
		return 1
	}
	return 0
}

// parseRange reads one element. A range with a parameter that neither offer has,
// such as text/html;level=1, matches nothing here and is not ok either.
func parseRange(element string) (r mediaRange, ok bool) {
	name, params, err := mime.ParseMediaType(element)
	if err != nil {
		return r, false
	}
	r.major, r.minor, _ = strings.Cut(name, "/")
	r.weight = 1000
	for key, value := range params {
		switch {
		case key == "q":
			if r.weight, ok = parseWeight(value); !ok {
				return r, false
			}
		case key == "charset" && strings.EqualFold(value, "utf-8"):
			r.charset = true
		default:
			return r, false
		}
	}
	return r, true
}

// parseWeight reads 0 to 1 with at most three decimals, as thousandths.
func parseWeight(s string) (thousandths int, ok bool) {
	whole, decimals, _ := strings.Cut(s, ".")
	if whole != "0" && whole != "1" || len(decimals) > 3 {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+(decimals + "000")[:3], 10, 16)
	return int(n), err == nil && n <= 1000
}

// elements splits a list at its commas, but for those in quoted strings.
func elements(list string) (out []string) {
	quoted, begin := false, 0
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '\\' && quoted:
			i++ // what follows is no end of the quotation
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			out = append(out, list[begin:i])
			begin = i + 1
		}
	}
	return append(out, list[begin:])
}
