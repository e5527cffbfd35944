package connect

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"layover/config"
)

func TestEveryMechanismWithAPasswordLogsIn(t *testing.T) {
	for _, m := range []config.Mechanism{config.MechanismPlain, config.MechanismScramSHA256, config.MechanismScramSHA512} {
		t.Run(string(m), func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.start(kfake.EnableSASL(), kfake.Superuser(string(m), "layover", "right, =p"))
				k := plainLogin(config.NewSecret("right, =p"))
				k.SASL.Mechanism = m
				c := w.connect(k)
				if err := w.ping(c); err != nil || !c.Status().Answered {
					t.Errorf("error %v", err)
				}
				k = plainLogin(config.NewSecret("wrong"))
				k.SASL.Mechanism = m
				if err := w.ping(w.connect(k)); err == nil {
					t.Error("a wrong password is taken")
				}
				k.SASL.Mechanism = ""
				if err := w.ping(w.connect(k)); err == nil {
					t.Error("no login is taken")
				}
			})
		})
	}
}

func TestEachSessionReadsTheLoginAgain(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.start()
		w.judge(func(string) (int16, string, string) { return 0, "", "" })
		k := plainLogin(w.file("password", "first\n"))
		k.SASL.Username = w.file("user", "layover")
		c := w.connect(k)
		for _, password := range []string{"first", "second"} {
			w.write("password", password+"\n")
			if err := w.ping(c); err != nil {
				t.Fatal(err)
			}
		}
		w.write("user", "other")
		if err := w.ping(c); err != nil {
			t.Fatal(err)
		}
		w.sent("\x00layover\x00first", "\x00layover\x00second", "\x00other\x00second")
	})
}

// sent wants these logins alone, in this order.
func (w *fixture) sent(want ...string) {
	w.Helper()
	var got []string
	for _, l := range w.seen() {
		got = append(got, l.auth)
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		w.Errorf("logins %q, want %q", got, want)
	}
}

func TestALoginWithoutItsFileIsNotSent(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.start()
		w.wants(func() string { return "right" })
		k := plainLogin(w.file("password", "right"))
		c := w.connect(k)
		os.Remove(w.dir + "/password")
		err := w.ping(c)
		s := c.Status()
		if err == nil || len(s.Refused) != 1 || s.Refused[0].Reason != ReasonCredentials || s.Refused[0].LookAt != "KAFKA_SASL_PASSWORD" ||
			!strings.HasPrefix(s.Refused[0].Message, `KAFKA_SASL_PASSWORD: the file "`+w.dir) {
			t.Errorf("error %v, status %+v, want a refusal that names the setting and the file", err, s)
		}
		w.sent()
		w.write("password", "")
		time.Sleep(maxPause)
		if err := w.ping(c); err == nil || !strings.Contains(err.Error(), "is empty") {
			t.Errorf("error %v of an empty file", err)
		}
		w.sent()
		w.write("password", "right")
		time.Sleep(maxPause)
		if err := w.ping(c); err != nil || refusedBy(c) != "" {
			t.Errorf("error %v, refusals by %q with the file", err, refusedBy(c))
		}
	})
}
