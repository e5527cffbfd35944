//go:build unix

package config

import (
	"fmt"
	"os"
	"testing"
)

// A shell's <(command) is empty when it is read a second time.
func TestASecretFromAPipeIsReadOnce(t *testing.T) {
	for _, variable := range []string{"KAFKA_SASL_PASSWORD", "LAYOVER_ADMIN_TOKEN"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		fmt.Fprintln(w, "hunter2")
		w.Close()
		cfg, _, err := load(append(alone(t, variable, ""), fmt.Sprintf("%s_FILE=/dev/fd/%d", variable, r.Fd())), realFiles())
		if err != nil {
			t.Fatal(err)
		}
		secret := cfg.Kafka.SASL.Password
		if variable == adminToken {
			secret = cfg.AdminToken
		}
		for range 2 {
			if text, err := secret.Read(); text != "hunter2" || err != nil {
				t.Errorf("%s: %q, %v", variable, text, err)
			}
		}
	}
}
