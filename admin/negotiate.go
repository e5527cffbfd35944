package admin

import (
	"strings"

	"github.com/elnormous/contenttype"
)

// prefersHTML reports whether a client would rather have HTML than JSON, by its
// Accept headers and section 12.5.1 of RFC 9110. Scripts ask with */* or without
// any Accept and get JSON; browsers name text/html. Of two types with the same
// weight the one that the header names first wins. Headers that cannot be read,
// or accept neither type, get JSON.
func prefersHTML(accept []string) bool {
	html := contenttype.NewMediaType("text/html")
	offers := []contenttype.MediaType{contenttype.NewMediaType("application/json"), html}
	chosen, _, err := contenttype.GetAcceptableMediaTypeFromHeader(strings.Join(accept, ","), offers)
	return err == nil && chosen.Equal(html)
}
