package admin

import (
	"fmt"
	"time"

	"layover/cluster/connect"
)

// Refused is the Reason of Kafka where a broker refuses the connection.
const Refused = "refused"

// connectionStatus is how Kafka is connected to. It has no secret: a setting is there by
// its name alone.
type connectionStatus struct {
	TLS          bool                `json:"tls"`
	SkipVerify   bool                `json:"insecure_skip_verify"`
	Mechanism    string              `json:"mechanism"` // "" without a login
	Warnings     []string            `json:"warnings"`
	Refused      []refusalStatus     `json:"refused"`
	Certificates []certificateStatus `json:"certificates"`
}

// refusalStatus is a broker that refuses the connection now.
type refusalStatus struct {
	Broker  string  `json:"broker"`
	Reason  string  `json:"reason"`
	LookAt  string  `json:"look_at"` // the setting, or several
	Message string  `json:"message"`
	Since   instant `json:"since"`
}

// certificateStatus is the certificate in force of one setting. NotAfter and ExpiresIn
// are null where there is a problem and nothing in force.
type certificateStatus struct {
	Variable  string  `json:"variable"`
	Subject   string  `json:"subject"`
	NotAfter  instant `json:"not_after"`
	ExpiresIn *int64  `json:"expires_in_seconds"` // below 0: it has ended
	Problem   string  `json:"problem"`            // of the file's present content; "" if that is in force
}

func (v report) connection() connectionStatus {
	c := &v.Connection
	s := connectionStatus{
		TLS: c.TLS, SkipVerify: c.InsecureSkipVerify, Mechanism: string(c.Mechanism),
		Warnings: v.connectionWarnings(), Refused: []refusalStatus{}, Certificates: []certificateStatus{},
	}
	for _, r := range c.Refused {
		s.Refused = append(s.Refused, refusalStatus{r.Broker, r.Reason, r.LookAt, r.Message, instant{r.Since}})
	}
	for _, cert := range c.Certificates {
		one := certificateStatus{Variable: cert.Variable, Subject: cert.Subject, NotAfter: instant{cert.NotAfter}, Problem: cert.Problem}
		if !cert.NotAfter.IsZero() {
			left := int64(cert.NotAfter.Sub(v.now) / time.Second)
			one.ExpiresIn = &left
		}
		s.Certificates = append(s.Certificates, one)
	}
	return s
}

// connectionWarnings returns the faults with which connections are still made.
func (v report) connectionWarnings() []string {
	out := []string{}
	if v.Connection.InsecureSkipVerify {
		out = append(out, "KAFKA_TLS_INSECURE_SKIP_VERIFY is true: no broker's certificate is checked, and anybody in between can read and change everything. "+
			"Set KAFKA_TLS_CA instead.")
	}
	for i := range v.Connection.Certificates {
		c := &v.Connection.Certificates[i]
		if c.Problem != "" {
			out = append(out, fmt.Sprintf("%s %s. New connections use the certificates from before.", c.Variable, c.Problem))
		}
		if !c.NotAfter.IsZero() && c.ExpiresSoon(v.now) {
			out = append(out, fmt.Sprintf("The certificate in %s (%s) %s. Renew it: a changed file is in force without a restart.",
				c.Variable, c.Subject, v.ends(c.NotAfter)))
		}
	}
	return out
}

// ends returns the end of a certificate as text, in whole days.
func (v report) ends(notAfter time.Time) string {
	left := notAfter.Sub(v.now)
	on := notAfter.UTC().Format("2006-01-02T15:04:05Z")
	switch days := int(left / (24 * time.Hour)); {
	case left <= 0:
		return "ended at " + on
	case days == 0:
		return "ends within a day, at " + on
	default:
		return fmt.Sprintf("ends in %s, at %s", counted(days, "day", "days"), on)
	}
}

// explainSilence puts the refusal in the place of the client's error, which may be a
// time-out. Only the copy that is looked at changes.
func (v *view) explainSilence() {
	if len(v.Connection.Refused) > 0 && !v.Kafka.Answering {
		v.Kafka.Err = refused(&v.Connection.Refused[0])
	}
}

func refused(r *connect.Refusal) string {
	return fmt.Sprintf("%s refuses the connection, look at %s: %s", r.Broker, r.LookAt, r.Message)
}

// refusal is the one sickness of all brokers that refuse. It has a broker's name where
// other brokers answer.
func (v *view) refusal() Sickness {
	all := v.Connection.Refused
	first := &all[0]
	s := Sickness{Kind: SickKafka, Reason: Refused, Since: instant{first.Since}, Text: refusalText(first.Broker, len(all)-1, first)}
	for i := range all {
		if all[i].Since.Before(s.Since.Time) {
			s.Since = instant{all[i].Since}
		}
	}
	if v.Kafka.Answering {
		s.Name, s.short = first.Broker, refused(first)
	} else {
		s.short = v.kafkaDown()
	}
	return s
}

// connectionFamilies are about the connection to Kafka. The gauge has a name of its own:
// OpenMetrics has the counter under its name without _total.
func connectionFamilies() []family {
	perCertificate := func(value func(c *connect.Certificate) (n float64, known bool)) func(*view, emit) {
		return func(v *view, out emit) {
			for i := range v.Connection.Certificates {
				c := &v.Connection.Certificates[i]
				if n, known := value(c); known {
					out(n, c.Variable)
				}
			}
		}
	}
	return []family{
		counter("layover_connection_refused_total",
			"Connections to brokers that were refused, by reason: tls (a certificate or a handshake), login (mechanism or credentials), credentials (there are none to send), protocol (one side speaks TLS or logs in, the other does not).",
			[]string{"reason"}, func(v *view, out emit) {
				for _, reason := range connect.Reasons() {
					out(float64(v.Connection.Refusals[reason]), reason)
				}
			}),
		level("layover_connection_refused_brokers",
			"Brokers that refuse the connection now. /status names each under connection, with the setting to look at.",
			func(v *view) float64 { return float64(len(v.Connection.Refused)) }),
		gauge("layover_certificate_expiry_timestamp_seconds",
			"End of the certificate in force, by the setting that has it, in seconds since 1970; of CAs the last to end. No series in plaintext.",
			[]string{"variable"}, perCertificate(func(c *connect.Certificate) (float64, bool) {
				return float64(c.NotAfter.Unix()), !c.NotAfter.IsZero()
			})),
		gauge("layover_certificate_reload_failed",
			"1 while the file of a setting has changed to something wrong and the certificate from before stays in force, else 0.",
			[]string{"variable"}, perCertificate(func(c *connect.Certificate) (float64, bool) { return flag(c.Problem != ""), true })),
	}
}
