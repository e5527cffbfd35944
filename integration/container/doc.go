// Package container tests what the Dockerfile and the compose file make, with the
// command line client of a container engine, as their users do.
//
//	go test ./integration/container                    all of it, about four minutes
//	go test -v -run Flood ./integration/container      a million records into 128 MiB
//	go test -v -run Compose ./integration/container    the compose file, from up to the first delayed record
//
// It is a package of its own, so that it has a time limit of its own. The commands of
// docs/container.md are run as they stand there, but for names and ports. What is
// started is removed when the tests end, and when they are interrupted.
//
// # What is skipped
//
// A test is skipped, and go test -v prints why, where
//
//   - no container engine answers, or it has no BuildKit, or the base images or the
//     image of Kafka are not to be had;
//   - no compose is there: the test of the compose file;
//   - the base images cannot be had for another platform: the test that makes an image
//     for one. What the Dockerfile compiles for it is looked at all the same;
//   - -short is given.
//
// # Settings
//
//	LAYOVER_TEST_DOCKER        the engine's client, default docker
//	LAYOVER_TEST_COMPOSE       the compose, such as "docker compose"; default: the first that is there
//	LAYOVER_TEST_KAFKA_IMAGE   the image of Kafka, default apache/kafka:4.3.1
package container
