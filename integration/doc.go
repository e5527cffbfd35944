// Package integration holds the third ring of tests: the built binary as an
// operator runs it, in its own process, against a real Apache Kafka.
//
//	go test ./integration                      each kind of test once, some minutes
//	LAYOVER_TEST_LONG=1 go test ./integration  all of it, about nine minutes; 2/4 plays the second quarter of the long ones
//	go test -v -run Lateness ./integration     one test, with its figures
//	go test -v -run TestKafka ./integration    what the design takes Kafka for, without Layover
//
// The package starts one broker in a container, which all tests share, and
// builds the binary once. It does both only when the first test asks for them.
// Every test makes its own topics and its own group. A test that stops the
// broker starts one for itself. What is started is terminated by the tests; a
// container that a killed test leaves behind ends by itself half an hour later.
//
// What is made of the Dockerfile and the compose file is tested in package container
// beside it.
//
// # What is skipped
//
// A test is skipped, and go test -v prints why, where
//
//   - no container engine answers within a few seconds, or the image of Kafka is
//     neither on this machine nor can be pulled: all tests that need a broker;
//   - KUBECONFIG names no cluster, kubectl or helm are missing, or nothing says how an
//     image comes to its nodes: the tests of the manifests;
//   - curl or kcat are missing: the commands of the documents;
//   - python3, mvn or npm are missing, or their packages are not to be had: the clients of
//     docs/clients.md;
//   - LAYOVER_TEST_RECIPES is not set: the programs of docs/recipes but those in Go;
//   - LAYOVER_TEST_LONG does not ask for them, or -short is given: the tests that take longer
//     than some seconds;
//   - LAYOVER_TEST_LONG is not set: most documents, and a few more tests that every change plays;
//   - the system is Windows, which has no SIGTERM: all tests that start the binary.
//
// # Settings
//
//	LAYOVER_TEST_KAFKA_IMAGE   the image of Kafka, default apache/kafka:4.3.1
//	LAYOVER_TEST_RECIPES       languages whose programs in docs/recipes are run, as in java,python, or all; with kafka,
//	                           all recipes on Kafka and not on the embedded broker
//	LAYOVER_TEST_DOCKER        the engine's client that builds the image for a cluster, default docker
//	LAYOVER_TEST_LOAD_IMAGE    a command that copies an image, its last argument, to the nodes of the cluster
//	LAYOVER_TEST_IMAGE         or an image of Layover that the nodes have or can pull; the tests drain a node
//
// # How a test judges
//
// Each record that a test sends is entered in a ledger with the instant at which it is
// due. The test computes that instant, and not Layover. A collector reads the target
// topics with a client of its own for as long as the test lasts. Package verify judges:
// none is lost, and none is early by the delivery's timestamp or by the receiver's clock.
// Repeats stay within the bound that the test states, and content and headers are as
// documented.
//
// What it is not: a benchmark. Lateness is printed, not asserted, because it
// depends on the machine and on who shares it.
package integration
