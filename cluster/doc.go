// Package cluster watches the brokers: do they answer, which topics exist, where
// may records go, and does the ingress topics' retention suit the delays.
//
// It asks with one metadata request a second, of a broker and not of a client's
// cache, and answers from memory. It decides nothing and moves no record.
//
// Names that headers chose under a glob are asked about in requests of their own, in
// batches and in turn. Their number has a bound, and their memory is counted.
package cluster
