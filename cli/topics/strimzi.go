package topics

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"layover/cluster/needs"
	"layover/config"
)

// The resources are those of Strimzi's CRDs kafka.strimzi.io/v1, and are the same in v1beta2.
// https://strimzi.io/docs/operators/latest/configuring

// manifest is a KafkaTopic or a KafkaUser.
type manifest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       any      `json:"spec"` // topicSpec or userSpec
}

type metadata struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
}

type topicSpec struct {
	TopicName  string            `json:"topicName,omitempty"` // where metadata.name is not the topic's
	Partitions int32             `json:"partitions"`
	Replicas   int32             `json:"replicas"`
	Config     map[string]string `json:"config,omitempty"`

	settings []needs.Setting // Config in its order
}

type userSpec struct {
	Authentication *authentication `json:"authentication,omitempty"`
	Authorization  authorization   `json:"authorization"`
}

type authentication struct {
	Type string `json:"type"`
}

type authorization struct {
	Type string `json:"type"`
	ACLs []acl  `json:"acls"`
}

type acl struct {
	Resource   resource          `json:"resource"`
	Operations []needs.Operation `json:"operations"`
	Host       string            `json:"host"`
}

type resource struct {
	Type        needs.Resource `json:"type"`
	Name        string         `json:"name"`
	PatternType string         `json:"patternType"`
}

// list is Kubernetes' list of resources, which kubectl takes as one file.
type list struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Items      []manifest `json:"items"`
}

func (o *options) list(table needs.Table) list {
	return list{"v1", "List", o.manifests(table)}
}

// manifests are the topics, then the user.
func (o *options) manifests(table needs.Table) (out []manifest) {
	for _, t := range table.Topics {
		spec := topicSpec{Partitions: o.partitions, Replicas: o.replicas, settings: o.config(t)}
		name := resourceName(t.Name)
		if name != t.Name {
			spec.TopicName = t.Name
		}
		for _, s := range spec.settings {
			if spec.Config == nil {
				spec.Config = make(map[string]string)
			}
			spec.Config[s.Name] = s.Value
		}
		out = append(out, o.manifest("KafkaTopic", name, spec))
	}
	if o.principal == "" {
		return out
	}
	name, _ := userOf(o.principal)
	spec := userSpec{Authorization: authorization{Type: "simple"}}
	if kind := o.authentication(); kind != "" {
		spec.Authentication = &authentication{kind}
	}
	for _, g := range grants(table.Rights) {
		pattern := "literal"
		if g.pattern == needs.Prefixed {
			pattern = "prefix"
		}
		spec.Authorization.ACLs = append(spec.Authorization.ACLs, acl{resource{g.resource, g.name, pattern}, g.operations, "*"})
	}
	return append(out, o.manifest("KafkaUser", name, spec))
}

func (o *options) manifest(kind, name string, spec any) manifest {
	return manifest{"kafka.strimzi.io/" + o.version.String(), kind, metadata{name, map[string]string{"strimzi.io/cluster": o.cluster}}, spec}
}

// authentication is how Strimzi makes the user's credentials. Those of other logins are made
// elsewhere.
func (o *options) authentication() string {
	switch {
	case strings.HasPrefix(o.principal, certificateUser):
		return "tls"
	case o.mechanism == config.MechanismScramSHA512:
		return "scram-sha-512"
	default:
		return ""
	}
}

// certificateUser begins the principal of a KafkaUser whose authentication is tls.
const certificateUser = "User:CN="

// userOf returns the name of the KafkaUser for a principal. The user operator makes the
// principal from that name, so that there is none for many principals.
func userOf(principal string) (name string, ok bool) {
	name, ok = strings.CutPrefix(principal, certificateUser)
	if !ok {
		name, ok = strings.CutPrefix(principal, "User:")
	}
	return name, ok && isResourceName(name)
}

var (
	resourceNames = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	notOfNames    = regexp.MustCompile(`[^a-z0-9]+`)
)

// isResourceName reports whether Kubernetes takes the name of a resource: the rule of a
// subdomain of DNS.
func isResourceName(name string) bool { return len(name) <= 253 && resourceNames.MatchString(name) }

// isLabel reports whether Strimzi takes the name of a cluster.
func isLabel(name string) bool {
	return len(name) <= 63 && !strings.Contains(name, ".") && isResourceName(name)
}

// resourceName returns a name for the resource of a topic: the topic's own where Kubernetes
// takes it. Another one gets a hash, as orders_eu and orders.EU would become the same.
func resourceName(topic string) string {
	if isResourceName(topic) {
		return topic
	}
	clean := strings.Trim(notOfNames.ReplaceAllString(strings.ToLower(topic), "-"), "-")
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(topic)))[:8]
	if clean == "" {
		return "topic-" + hash
	}
	return clean[:min(len(clean), 200)] + "-" + hash
}

// yaml is the table as resources of Strimzi. The few fields are written one by one: the
// order is that of a person, and comments are possible.
func (o *options) yaml(table needs.Table) string {
	var b strings.Builder
	for _, m := range o.manifests(table) {
		fmt.Fprintf(&b, "---\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  labels:\n    strimzi.io/cluster: %s\nspec:\n",
			m.APIVersion, m.Kind, scalar(m.Metadata.Name), scalar(o.cluster))
		switch spec := m.Spec.(type) {
		case topicSpec:
			spec.write(&b)
		case userSpec:
			spec.write(&b)
		}
	}
	if o.principal == "" {
		fmt.Fprintf(&b, "\n# %s\n", noPrincipal)
	}
	b.WriteString(gapComments(table.Gaps))
	return b.String()
}

func (s topicSpec) write(b *strings.Builder) {
	if s.TopicName != "" {
		fmt.Fprintf(b, "  topicName: %s\n", scalar(s.TopicName))
	}
	fmt.Fprintf(b, "  partitions: %d\n  replicas: %d\n", s.Partitions, s.Replicas)
	if len(s.settings) > 0 {
		b.WriteString("  config:\n")
	}
	for _, c := range s.settings {
		fmt.Fprintf(b, "    %s: %s\n", c.Name, scalar(c.Value))
	}
}

func (s userSpec) write(b *strings.Builder) {
	if s.Authentication != nil {
		fmt.Fprintf(b, "  authentication:\n    type: %s\n", s.Authentication.Type)
	} else {
		b.WriteString("  # no authentication: the credentials are made elsewhere\n")
	}
	fmt.Fprintf(b, "  authorization:\n    type: %s\n    acls:\n", s.Authorization.Type)
	for _, a := range s.Authorization.ACLs {
		fmt.Fprintf(b, "      - resource:\n          type: %s\n          name: %s\n          patternType: %s\n        operations:\n",
			a.Resource.Type, scalar(a.Resource.Name), a.Resource.PatternType)
		for _, operation := range a.Operations {
			fmt.Fprintf(b, "          - %s\n", operation)
		}
		fmt.Fprintf(b, "        host: %s\n", scalar(a.Host))
	}
}

var plainScalars = regexp.MustCompile(`^[a-z][a-z0-9-]*([._][a-z0-9-]+)*$`)

// scalar returns text as a string of YAML. Words such as no and null are no strings, and
// neither is 1e5; a string of JSON always is one.
func scalar(text string) string {
	switch text {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
	default:
		if plainScalars.MatchString(text) {
			return text
		}
	}
	quoted, err := json.Marshal(text)
	if err != nil { // of no string
		panic(err)
	}
	return string(quoted)
}
