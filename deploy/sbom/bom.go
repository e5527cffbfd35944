package main

import (
	"cmp"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
)

// bom is a CycloneDX document: the fields of the specification that are used here,
// under its names.
type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"` // of the document
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Lifecycles []lifecycle `json:"lifecycles"`
	Component  component   `json:"component"`
}

type lifecycle struct {
	Phase string `json:"phase"`
}

// component is the program, a module or the standard library.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"` // its package URL, which is unique
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PackageURL string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// dependency names the modules that the program is linked from. A binary does not say
// which module uses which.
type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// describe makes the document of a binary. version is the program's where it is not
// empty.
func describe(info *debug.BuildInfo, version string) bom {
	program := module(info.Main)
	program.Type = "application"
	program.Version = cmp.Or(version, info.Main.Version, "(devel)")
	program.PackageURL = packageURL(program.Name, program.Version)
	program.Ref = program.PackageURL
	program.Properties = append(program.Properties, settings(info)...)

	libraries := []component{standardLibrary(info.GoVersion)}
	for _, m := range info.Deps {
		libraries = append(libraries, module(*m))
	}
	slices.SortFunc(libraries, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	linked := dependency{Ref: program.Ref}
	links := make([]dependency, 0, len(libraries)+1)
	for _, c := range libraries {
		linked.DependsOn = append(linked.DependsOn, c.Ref)
		links = append(links, dependency{Ref: c.Ref})
	}
	return bom{
		Schema: "http://cyclonedx.org/schema/bom-1.5.schema.json", Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Metadata:   metadata{[]lifecycle{{"build"}}, program},
		Components: libraries, Dependencies: append(links, linked),
	}
}

// module describes a module, or its replacement.
func module(m debug.Module) component {
	if m.Replace != nil {
		m = *m.Replace
	}
	c := component{Type: "library", Name: m.Path, Version: m.Version, PackageURL: packageURL(m.Path, m.Version)}
	c.Ref = c.PackageURL
	if m.Sum != "" {
		// The sum is go.sum's, a hash over the hashes of all files. It is the hash of no
		// file that can be downloaded, and would be wrong among the component's hashes.
		c.Properties = []property{{"golang:sum", m.Sum}}
	}
	return c
}

// standardLibrary describes Go's own packages by the name under which its
// vulnerabilities are listed.
func standardLibrary(goVersion string) component {
	// Text behind the number, such as the experiments of a build, is no part of the
	// version.
	version, _, _ := strings.Cut(strings.TrimPrefix(goVersion, "go"), " ")
	url := packageURL("stdlib", version)
	return component{Type: "library", Ref: url, Name: "stdlib", Version: version, PackageURL: url}
}

// settings returns how the program was built, without the settings that name folders of
// the machine that built it.
func settings(info *debug.BuildInfo) (out []property) {
	out = append(out, property{"golang:version", info.GoVersion})
	for _, s := range info.Settings {
		switch s.Key {
		case "-buildmode", "-compiler", "-tags", "-trimpath", "CGO_ENABLED", "GOOS", "GOARCH", "GOAMD64", "GOARM64",
			"vcs.revision", "vcs.time", "vcs.modified":
			out = append(out, property{"golang:" + s.Key, s.Value})
		}
	}
	return out
}

// packageURL returns the URL of a Go package of that version: in lower case, and
// without a version where there is none.
func packageURL(path, version string) string {
	out := "pkg:golang"
	for part := range strings.SplitSeq(strings.ToLower(path), "/") {
		out += "/" + escape(part)
	}
	if version != "" && version != "(devel)" {
		out += "@" + escape(version)
	}
	return out
}

// escape encodes a part as package URLs want it, the plus sign of +incompatible too.
func escape(part string) string { return strings.ReplaceAll(url.PathEscape(part), "+", "%2B") }
