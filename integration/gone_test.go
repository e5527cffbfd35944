package integration

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka tells a member whose group was deleted so, and not that its generation is over:
// that is why GROUP_ID_NOT_FOUND fences a commit.
func TestKafkaRefusesACommitToAGroupThatIsGoneByItsName(t *testing.T) {
	f, id := facts(t, 1)
	m := f.member()
	if err := m.join(); err != nil {
		t.Fatal(err)
	}
	if err := m.sync(map[*member][]int32{m: {0}}); err != nil {
		t.Fatal(err)
	}
	if err := m.commit(id, at{0, 5, ""})[0]; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := m.ctx()
	defer cancel()
	leave, who := kmsg.NewPtrLeaveGroupRequest(), kmsg.NewLeaveGroupRequestMember()
	who.MemberID = m.id
	leave.Group, leave.MemberID, leave.Members = f.group, m.id, append(leave.Members, who)
	left, err := leave.RequestWith(ctx, m.client)
	if err == nil {
		err = kerr.ErrorForCode(left.ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.admin.DeleteGroup(ctx, f.group); err != nil {
		t.Fatal(err)
	}
	if err := m.commit(id, at{0, 6, ""})[0]; !errors.Is(err, kerr.GroupIDNotFound) {
		t.Errorf("a commit to a group that is gone: %v, want GROUP_ID_NOT_FOUND", err)
	}
}
