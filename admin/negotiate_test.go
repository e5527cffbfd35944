package admin

import (
	"slices"
	"strings"
	"testing"
)

// What browsers and command-line clients send.
const (
	chromeAccept  = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
	firefoxAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	curlAccept    = "*/*"
)

func TestHTMLIsForThoseWhoPreferIt(t *testing.T) {
	for name, test := range map[string]struct {
		accept []string
		html   bool
	}{
		"no header":                             {nil, false},
		"an empty header":                       {[]string{""}, false},
		"curl":                                  {[]string{curlAccept}, false},
		"Chrome":                                {[]string{chromeAccept}, true},
		"Firefox":                               {[]string{firefoxAccept}, true},
		"lynx":                                  {[]string{"text/html, text/plain, text/sgml, */*;q=0.01"}, true},
		"only JSON":                             {[]string{"application/json"}, false},
		"only HTML":                             {[]string{"text/html"}, true},
		"both alike, HTML named first":          {[]string{"text/html, application/json"}, true},
		"both alike, JSON named first":          {[]string{"application/json;q=0.5, text/html;q=0.5"}, false},
		"HTML more":                             {[]string{"application/json;q=0.8, text/html;q=0.9"}, true},
		"HTML more by a thousandth":             {[]string{"application/json;q=0.899, text/html;q=0.9"}, true},
		"JSON more":                             {[]string{"application/json;q=0.9, text/html;q=0.899"}, false},
		"HTML refused":                          {[]string{"text/html;q=0"}, false},
		"HTML refused, all else welcome":        {[]string{"text/html;q=0, */*"}, false},
		"HTML refused after all else":           {[]string{"*/*, text/html;q=0.000"}, false},
		"JSON refused":                          {[]string{"*/*, application/json;q=0"}, true},
		"both refused":                          {[]string{"text/html;q=0, application/json;q=0"}, false},
		"neither":                               {[]string{"image/png"}, false},
		"any text":                              {[]string{"text/*"}, true},
		"any text, and anything a little":       {[]string{"*/*;q=0.1, text/*;q=0.2"}, true},
		"any application":                       {[]string{"application/*, */*;q=0.9"}, false},
		"a closer range wins over a louder one": {[]string{"text/*, text/html;q=0.1, application/json;q=0.2"}, false},
		"and the other way about":               {[]string{"application/*;q=0.1, text/html;q=0.5, */*"}, true},
		"any charset is none of ours":           {[]string{"text/html;q=0.1, text/html;charset=utf-8;q=0.9, application/json;q=0.5"}, false},
		"another charset is none of ours":       {[]string{"text/html;charset=iso-8859-1, application/json;q=0.1"}, false},
		"another level is none of ours":         {[]string{"text/html;level=1, application/json;q=0.1"}, false},
		"of two alike the first":                {[]string{"text/html;q=0, text/html"}, false},
		"capitals and spaces":                   {[]string{" TEXT/Html ; Q=1.0 , application/JSON ; q=0.9"}, true},
		"several headers":                       {[]string{"application/json;q=0.5", "text/html"}, true},
		"several headers, refused in the last":  {[]string{"*/*", "text/html;q=0"}, false},
		"a comma in a quotation":                {[]string{`image/x;a=",text/html,", application/json;q=0.1`}, false},
		"an escaped quote in a quotation":       {[]string{`image/x;a="\",text/html,", application/json;q=0.1`}, false},
		"a quotation without an end":            {[]string{`image/x;a=", text/html`}, false},
		"an impossible weight":                  {[]string{"text/html;q=1.1, application/json;q=0.1"}, false},
		"a weight with too many decimals":       {[]string{"text/html;q=0.1234, application/json;q=0.1"}, false},
		"a weight that is no number":            {[]string{"text/html;q=much, application/json;q=0.1"}, false},
		"a negative weight":                     {[]string{"text/html;q=-1, application/json;q=0.1"}, false},
		"a weight with a sign inside":           {[]string{"text/html;q=0.+5, application/json;q=0.1"}, false},
		"empty elements cannot be read":         {[]string{",, ,text/html,"}, false},
		"half a wildcard is none":               {[]string{"*/html, *, text"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := prefersHTML(test.accept); got != test.html {
				t.Errorf("%q: HTML is preferred: %v, want %v", test.accept, got, test.html)
			}
		})
	}
}

// FuzzAccept: every header gets an answer, capitals change none, and HTML that was
// refused first is refused.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{
		"", curlAccept, chromeAccept, firefoxAccept, "text/html;q=0", `a/b;c="\",";q=0.5,text/html`, "text/html;q=1.000;charset=UTF-8",
		"text/*;q=0.3, text/html;q=0.7, */*;q=0.5", "text/html;q=0.5;q=1", "text/html;;q", "\x00,\xff/\xff", strings.Repeat("a/b,", 100) + "text/html",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		html := prefersHTML([]string{accept})
		if other := prefersHTML([]string{upper(accept)}); other != html {
			t.Errorf("%q: %v, in capitals %v", accept, html, other)
		}
		refused := "text/html;q=0, text/html;charset=utf-8;q=0, "
		if prefersHTML([]string{refused + accept}) {
			t.Errorf("%q: HTML, which was refused before", accept)
		}
	})
}

// upper turns ASCII letters into capitals, and nothing else into letters.
func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

// FuzzRanges compares with section 12.5.1 of RFC 9110 read word by word. Each
// representation looks for the most specific range first. Of equal weights the
// range that stands first decides. Two bytes make a range.
func FuzzRanges(f *testing.F) {
	ranges := []string{"*/*", "text/*", "application/*", "text/html", "application/json", "text/html;charset=utf-8", "image/png", "text/plain"}
	weights := []string{"", ";q=0", ";q=0.001", ";q=0.5", ";q=0.51", ";q=1"}
	thousandths := []int{1000, 0, 1, 500, 510, 1000}
	f.Add([]byte{3, 0, 0, 3})
	f.Add([]byte{0, 0, 3, 1})
	f.Add([]byte{4, 2, 1, 3, 0, 4})
	f.Fuzz(func(t *testing.T, picks []byte) {
		var sent []string
		weight, place := make(map[string]int), make(map[string]int) // by range, of the first of each
		for pair := range slices.Chunk(picks, 2) {
			if len(pair) < 2 {
				break
			}
			r, w := ranges[int(pair[0])%len(ranges)], int(pair[1])%len(weights)
			sent = append(sent, r+weights[w])
			if _, known := weight[r]; !known {
				weight[r], place[r] = thousandths[w], len(sent)
			}
		}
		first := func(names ...string) (w, at int) {
			for _, name := range names {
				if w, known := weight[name]; known {
					return w, place[name]
				}
			}
			return 0, 0
		}
		html, htmlAt := first("text/html", "text/*", "*/*")
		json, jsonAt := first("application/json", "application/*", "*/*")
		want := html > json || html == json && html > 0 && htmlAt < jsonAt
		if got := prefersHTML(sent); got != want {
			t.Errorf("%q: HTML is preferred: %v, want %v", sent, got, want)
		}
	})
}
