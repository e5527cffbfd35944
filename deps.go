//go:build never

package main

import (
	_ "github.com/kelseyhightower/envconfig"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/testcontainers/testcontainers-go/wait"
	_ "github.com/moby/moby/api/types/container"
	_ "github.com/moby/moby/api/types/network"
	_ "github.com/twmb/franz-go/pkg/kfake"
	_ "github.com/twmb/franz-go/pkg/kgo"
	_ "github.com/twmb/franz-go/pkg/kmsg"
	_ "github.com/twmb/franz-go/plugin/kprom"
	_ "github.com/twmb/franz-go/plugin/kslog"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sys/unix"
)
