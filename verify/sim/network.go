package sim

import "slices"

// network is what is on its way to the brokers, from somebody who does not wait any more.
type network struct {
	late   []*commitMsg // commits sent on connections that were cut: they may still arrive
	ghosts []*produce   // produces nobody waits for any more, which may still arrive
}

// haunt keeps a produce that nobody waits for, with the bytes as they were sent.
func (n *network) haunt(f *produce) {
	if f.applied {
		return
	}
	g := *f
	g.d.Body = slices.Clone(f.d.Body)
	n.ghosts = append(n.ghosts, &g)
}
