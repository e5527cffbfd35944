package doctor

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"layover/cluster/connect"
)

// connectionChecks are about reaching the brokers.
func connectionChecks() []check {
	return []check{
		{"broker-names", nothing, "every connection begins with a name in KAFKA_BROKERS", brokerNames},
		{"broker-answers", nothing, "without a broker that answers nothing is read and nothing delivered", brokerAnswers},
		{"tls", nothing, "a certificate that is not taken ends every connection, and one that expires ends them all at once", tlsCheck},
		{"login", nothing, "brokers close the connection of a login that they do not take, and some lock the account after a few", loginCheck},
		{"advertised-names", answer, "a client asks any broker for the others, and then connects to each by the name that it advertises", advertisedNames},
	}
}

// brokerNames: one name is enough to begin with.
func brokerNames(f *facts) verdict {
	var v verdicts
	some := resolved(f.seeds)
	for _, h := range f.seeds {
		switch name, _, _ := net.SplitHostPort(h.address); {
		case h.err == nil && net.ParseIP(name) != nil:
			v.add(OK, "", "%s is an address", h.address)
		case h.err == nil:
			v.add(OK, "", "%s resolves to %s", h.address, list(h.ips))
		case some:
			v.add(Warn, resolveFix(h), "%s does not resolve: %s", h.address, clean(h.err.Error()))
		default:
			v.add(Fail, resolveFix(h), "%s does not resolve: %s", h.address, clean(h.err.Error()))
		}
	}
	return v.worst()
}

func resolveFix(h host) string {
	name, _, _ := net.SplitHostPort(h.address)
	return fmt.Sprintf("correct KAFKA_BROKERS, or let this machine resolve %s: in Docker by a network that both containers are in, in Kubernetes by NAME.NAMESPACE.svc", name)
}

// brokerAnswers: a broker that refuses the connection is there, and others tell why.
func brokerAnswers(f *facts) verdict {
	switch {
	case !resolved(f.seeds):
		return skipped("not asked, as broker-names failed")
	case f.err == nil:
		return okay("%s in the cluster", count(len(f.brokers), "broker"))
	case len(f.status.Refused) > 0:
		return okay("%s takes connections, and refuses them after that", f.status.Refused[0].Broker)
	}
	at := strings.Join(f.settings.Kafka.Brokers, ",")
	if strings.Contains(f.explain, "invalid large response size") {
		return verdict{Fail, fmt.Sprintf("no broker answers at %s: something else does: %s", at, clean(f.explain)),
			"see whether KAFKA_BROKERS has the port of a Kafka listener, and KAFKA_TLS_ENABLED what that port wants"}
	}
	if f.status.Dialed { // the error may be of a later try, which had no time left
		return verdict{Fail, fmt.Sprintf("no broker answers at %s: a connection was taken, and nothing is said on it", at),
			"see whether a Kafka listens there, whether KAFKA_TLS_ENABLED is what its port wants, and whether it hangs: its log, kafka-broker-api-versions.sh"}
	}
	return verdict{Fail, fmt.Sprintf("no broker answers at %s: %s", at, clean(f.explain)),
		"see whether the brokers run, whether KAFKA_BROKERS has their port, and whether a firewall or a NetworkPolicy is in between"}
}

// refusal returns why brokers refuse the connection, for one of the two checks.
func (f *facts) refusal(tls bool) *connect.Refusal {
	for i := range f.status.Refused {
		r := &f.status.Refused[i]
		if of := r.Reason == connect.ReasonTLS || r.Reason == connect.ReasonProtocol && strings.Contains(r.LookAt, "KAFKA_TLS_ENABLED"); of == tls {
			return r
		}
	}
	return nil
}

// silent reports whether no broker has said anything, so that neither TLS nor login is
// known to work.
func (f *facts) silent() bool { return f.err != nil && len(f.status.Refused) == 0 }

func refused(r *connect.Refusal) verdict {
	return verdict{Fail, fmt.Sprintf("%s refuses the connection: %s", r.Broker, clean(r.Message)), "look at " + r.LookAt}
}

func tlsCheck(f *facts) verdict {
	if r := f.refusal(true); r != nil {
		return refused(r)
	}
	if !f.status.TLS {
		return skipped("TLS is off: connections are in plaintext")
	}
	if f.silent() {
		return skipped("not asked, as no broker answers")
	}
	var v verdicts
	if f.status.InsecureSkipVerify {
		v.add(Warn, "set KAFKA_TLS_CA to the brokers' authority, and unset KAFKA_TLS_INSECURE_SKIP_VERIFY",
			"any certificate of any broker is taken: whoever is in between can read and change everything")
	} else {
		v.add(OK, "", "the brokers' certificates are of a trusted authority and for their names")
	}
	for _, c := range f.status.Certificates {
		if c.Problem != "" {
			v.add(Warn, "correct what "+c.Variable+" names", "%s %s; the certificate from before stays in force", c.Variable, clean(c.Problem))
		}
		if !c.NotAfter.IsZero() {
			v.expiry(c.Variable+" ("+clean(c.Subject)+")", c.NotAfter, f.now, "renew the certificate in "+c.Variable)
		}
	}
	for _, p := range f.status.Peers {
		v.expiry("the certificate of "+p.Broker+" ("+clean(p.Subject)+")", p.NotAfter, f.now, "have the brokers' certificates renewed by who runs them")
	}
	return v.worst()
}

// inDays writes a time that is left.
func inDays(left time.Duration) string {
	if left < 24*time.Hour {
		return "less than a day"
	}
	return count(int(left/(24*time.Hour)), "day")
}

// expiry judges a certificate's end.
func (v *verdicts) expiry(whose string, end, now time.Time, fix string) {
	day := end.UTC().Format(time.DateOnly)
	switch {
	case now.After(end):
		v.add(Fail, fix, "%s has expired on %s", whose, day)
	case now.After(end.Add(-connect.ExpiresSoon)):
		v.add(Warn, fix, "%s expires on %s, in %s", whose, day, inDays(end.Sub(now)))
	default:
		v.add(OK, "", "%s is valid until %s", whose, day)
	}
}

func loginCheck(f *facts) verdict {
	if r := f.refusal(false); r != nil {
		return refused(r)
	}
	mechanism := f.status.Mechanism
	switch {
	case f.silent():
		return skipped("not asked, as no broker answers")
	case f.err != nil:
		return skipped("not asked, as tls failed")
	case mechanism == "":
		return okay("the brokers want no login, and none is set")
	}
	return okay("the brokers take the login by %s", mechanism)
}

// advertisedNames: each broker has to be reached, as each leads some of the partitions.
func advertisedNames(f *facts) verdict {
	var v verdicts
	for i := range f.brokers {
		b := &f.brokers[i]
		switch {
		case b.host.err != nil:
			v.add(Fail, f.advertiseFix(b), "broker %d advertises %s, which does not resolve here: %s", b.id, clean(b.address), clean(b.host.err.Error()))
		case b.err != nil && f.loopback(b):
			v.add(Fail, f.advertiseFix(b), "broker %d advertises %s, which is this machine or container itself: %s", b.id, clean(b.address), clean(b.err.Error()))
		case b.err != nil:
			v.add(Fail, f.advertiseFix(b), "broker %d advertises %s, which is not reached from here: %s", b.id, clean(b.address), clean(b.err.Error()))
		default:
			v.add(OK, "", "broker %d is reached at %s", b.id, clean(b.address))
		}
	}
	if len(v) == 0 {
		return verdict{Status: Unknown, found: "the answer names no broker"}
	}
	return v.worst()
}

// loopback reports whether a broker is advertised as this host, and bootstrapped from
// another one.
func (f *facts) loopback(b *broker) bool {
	own := func(h *host) bool {
		return slices.ContainsFunc(h.ips, func(ip string) bool { parsed := net.ParseIP(ip); return parsed != nil && parsed.IsLoopback() })
	}
	return own(&b.host) && !slices.ContainsFunc(f.seeds, func(h host) bool { return own(&h) })
}

// advertiseFix names the setting of the brokers, with the name that does resolve.
func (f *facts) advertiseFix(b *broker) string {
	name, port, _ := net.SplitHostPort(strings.Split(f.seedList(), ",")[0])
	such := "such as " + name
	if len(f.brokers) > 1 { // the seed may be another broker, or stand for all of them
		name, port, such = "HOST", "PORT", "its own and no other broker's"
	}
	return fmt.Sprintf("have broker %d advertise a name that resolves and is reached from here, %s, by one of\n"+
		"KAFKA_ADVERTISED_LISTENERS=...,NAME://%s  (container; a listener of its own for each network)\n"+
		"advertised.listeners=...,NAME://%s  (server.properties)\n"+
		"spec.kafka.listeners[].configuration.brokers[].advertisedHost: %s  (Strimzi)", b.id, such, net.JoinHostPort(name, port), net.JoinHostPort(name, port), name)
}
