package cluster

// Protocols returns the group protocols that a member of this release lists in its joins, the
// newest first. All of them share partitions as cooperative-sticky does, which is all that
// the first releases list. The coordinator chooses the first one that every member lists. So
// one older member makes the group speak an older protocol.
//
// A member that lists layover-2 reads what any other member that lists it commits and writes.
// A release that writes what these members cannot read begins its list with another name.
func Protocols() []string { return []string{"layover-2", "cooperative-sticky"} }
