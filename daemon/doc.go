// Package daemon wires Layover together and is the only package that knows all of
// its parts. New makes them, Run starts them and stops them in one visible order.
//
//	cluster.Watcher ──► which topics exist, do brokers answer
//	consumer.Consumer ──► router ──► lane.Lane ──► delivery ──► producer.Producer
//	        ▲                           │
//	        └──── commits, jumps ───────┘        backpressure: pauses reading by memory
//	admin.Server ◄── Sample
package daemon
