package admin

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// node is an element of the page for page.js. In JSON it is a list of its name,
// its attributes, and its children, of which a text is a string.
type node struct {
	name       string
	attributes map[string]string
	children   []any // *node or string
}

// MarshalJSON implements json.Marshaler.
func (n *node) MarshalJSON() ([]byte, error) {
	return json.Marshal(append([]any{n.name, n.attributes}, n.children...))
}

// nodes reads markup that the template made. Templates are written as XML wants it,
// so no other parser is needed, and what a producer wrote is text here already.
func nodes(markup string) ([]any, error) {
	root := new(node)
	open := []*node{root}
	for dec := xml.NewDecoder(strings.NewReader(strings.Map(inXML, markup))); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return root.children, nil
		}
		if err != nil {
			return nil, fmt.Errorf("markup of the page: %w", err)
		}
		last := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local, attributes: make(map[string]string, len(token.Attr))}
			for _, a := range token.Attr {
				n.attributes[a.Name.Local] = a.Value
			}
			last.children = append(last.children, n)
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			last.children = append(last.children, string(token))
		}
	}
}

// inXML replaces characters that XML cannot have. HTML can, in spite of its parser's
// complaints.
func inXML(r rune) rune {
	if r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 {
		return r
	}
	return '\ufffd'
}
